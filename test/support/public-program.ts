import { chmodSync, cpSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makePublicFolder } from './public-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string | undefined;

/** The command line where every account can read it: a checkout may lie in a home directory that is closed to others. */
export function publicProgram(): string {
  folder ??= copied();
  return join(folder, 'dist', 'bin', 'exec-server.cjs');
}

function copied(): string {
  const target = makePublicFolder();
  for (const part of ['dist/bin', 'build/native']) cpSync(join(root, part), join(target, part), { recursive: true });
  open(target);
  return target;
}

function open(path: string): void {
  const { mode } = statSync(path);
  chmodSync(path, mode | 0o444 | (mode & 0o100 ? 0o111 : 0));
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) open(join(path, name));
}
