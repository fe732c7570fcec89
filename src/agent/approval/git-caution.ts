import { basename } from 'node:path';
import { callsGit, gitCallHazard, plainCommands } from '../rules/index.ts';
import { type CommandRequest, LOCAL_ENVIRONMENT } from './command-request.ts';

/** Why a command that runs git should not leave the sandbox by rules alone; undefined when it may. */
export async function gitCaution({
  argv,
  cwd,
  environmentId,
  variables = {},
  isWritable = () => false,
}: CommandRequest): Promise<string | undefined> {
  const commands = plainCommands(argv) ?? [argv];
  if (!commands.some(callsGit)) return undefined;
  if (environmentId !== LOCAL_ENVIRONMENT) return 'the configuration of a repository elsewhere is not known here';
  if (commands.some(([program = '']) => /^(?:cd|pushd|popd)$/.test(basename(program)))) {
    return 'git runs in another directory';
  }
  for (const words of commands) {
    const hazard = await gitCallHazard(words, { cwd, variables, isWritable });
    if (hazard !== undefined) return hazard;
  }
  return undefined;
}
