import { accessSync, constants } from 'node:fs';
import { join, win32 } from 'node:path';

/** A shell, as its machine describes it. */
export interface Shell {
  readonly name: string;
  readonly path: string;
}

export type ShellKind = 'bash' | 'zsh' | 'sh' | 'powershell' | 'cmd';

/** The kind of a shell by its name or path; undefined for an unknown shell. */
export function shellKind(nameOrPath: string): ShellKind | undefined {
  const name = win32
    .basename(nameOrPath)
    .replace(/\.exe$/i, '')
    .toLowerCase();
  if (name === 'pwsh') return 'powershell';
  return kinds.find((kind) => kind === name);
}

const kinds: readonly ShellKind[] = ['bash', 'zsh', 'sh', 'powershell', 'cmd'];

/** The command line that runs a script in a shell. */
export function shellArgv(shell: Shell, script: string, login: boolean): string[] {
  const kind = shellKind(shell.name) ?? shellKind(shell.path);
  if (kind === 'powershell') return [shell.path, ...(login ? [] : ['-NoProfile']), '-Command', script];
  if (kind === 'cmd') return [shell.path, '/c', script];
  return [shell.path, login ? '-lc' : '-c', script];
}

/** The shell on another machine is the one that it reports; undefined when the call asks for another kind. */
export function remoteShell(own: Shell, asked: string | undefined): Shell | undefined {
  if (asked === undefined) return own;
  const kind = shellKind(asked);
  return kind !== undefined && kind === shellKind(own.name) ? own : undefined;
}

/**
 * The shell on this machine: the user's own if it is of the kind that the call asks for, otherwise one of that kind from these
 * directories, otherwise `/bin/sh`.
 */
export function localShell(own: Shell, asked: string | undefined, directories: () => readonly string[]): Shell {
  if (asked === undefined) return own;
  const kind = shellKind(asked);
  if (kind !== undefined && kind === shellKind(own.name)) return own;
  const path =
    kind &&
    directories()
      .map((directory) => join(directory, kind))
      .find(isExecutable);
  return path ? { name: kind, path } : { name: 'sh', path: '/bin/sh' };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // missing, or not executable for this user
  }
}
