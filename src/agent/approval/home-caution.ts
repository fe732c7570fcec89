import { posix } from 'node:path';
import type { CommandRequest } from './command-request.ts';

/** The start-up files of shells in a home directory, and the files that those usually read in turn. */
const START_UP_FILES = [
  ...['.profile', '.bash_profile', '.bash_login', '.bashrc'],
  ...['.zshenv', '.zprofile', '.zlogin', '.zshrc'],
];

/** Why a command should not leave the sandbox by rules alone: other commands can write the start-up files of its shell. */
export function homeCaution({
  home,
  variables = {},
  isWritable = () => false,
}: Pick<CommandRequest, 'home' | 'variables' | 'isWritable'>): string | undefined {
  const { ZDOTDIR, BASH_ENV, ENV } = variables;
  const inFolders = [home, ZDOTDIR].flatMap((folder) =>
    folder ? START_UP_FILES.map((name) => posix.join(folder, name)) : [],
  );
  const file = [...inFolders, BASH_ENV, ENV].find((path) => path && isWritable(path));
  return file && `commands can write ${file}`;
}
