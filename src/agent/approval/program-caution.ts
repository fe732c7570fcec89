import { posix } from 'node:path';
import { plainCommands } from '../rules/index.ts';
import type { CommandRequest } from './command-request.ts';

/**
 * Why a command should not leave the sandbox by rules alone: a rule for a relative path matches another file in every
 * directory, also one that commands have written.
 */
export function programCaution({
  argv,
  cwd,
  isWritable = () => false,
}: Pick<CommandRequest, 'argv' | 'cwd' | 'isWritable'>): string | undefined {
  const programs = (plainCommands(argv) ?? [argv]).map(([program = '']) => program);
  const relative = programs.filter((program) => program.includes('/') && !program.startsWith('/'));
  if (relative.length > 0 && programs.some((program) => MOVING.has(program))) {
    return `${relative[0]} is looked up in another directory`;
  }
  const file = relative.map((program) => `${cwd}/${program}`).find(isWritable);
  return file && `commands can write ${posix.normalize(file)}`;
}

const MOVING = new Set(['cd', 'pushd', 'popd']);
