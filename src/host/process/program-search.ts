import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { quoted } from '../../base/index.ts';
import type { Command } from '../os/index.ts';

/** The reference's error text for a program that was not found for a terminal; undefined if the program exists. */
export function explainSearch({ argv, cwd, env }: Command): string | undefined {
  const program = argv[0]!;
  const folder = String(cwd).replaceAll(/\/{2,}/g, '/');
  if (/^\.{1,2}(?:\/|$)/.test(program)) {
    const path = join(folder, program);
    const fault = faultOf(path, { folder: 'it is a directory', file: 'it is not executable' });
    return fault === 'none' ? undefined : `Unable to spawn ${path} because ${fault ?? 'it does not exist'}`;
  }
  const faults = env.PATH === undefined ? ['Unable to resolve the PATH'] : candidateFaults(folder, program, env.PATH);
  return faults && `Unable to spawn ${program} because:\n${faults.join('\n')}`;
}

function candidateFaults(cwd: string, program: string, path: string): string[] | undefined {
  const faults: string[] = [];
  for (const folder of path.split(':')) {
    const candidate = join(folder.startsWith('/') ? folder : join(cwd, folder), program);
    const fault = faultOf(candidate, {
      folder: `${candidate} exists but is a directory.`,
      file: `${candidate} exists but is not executable.`,
    });
    if (fault === 'none') return undefined;
    if (fault) faults.push(fault);
  }
  return [...faults, `No viable candidates found in PATH ${quoted(path)}`];
}

/** Undefined for a missing path. */
function faultOf(path: string, texts: { readonly folder: string; readonly file: string }): string | undefined {
  try {
    if (statSync(resolve(path)).isDirectory()) return texts.folder;
  } catch {
    return undefined; // missing, or out of reach
  }
  try {
    accessSync(path, constants.X_OK);
    return 'none';
  } catch {
    return texts.file; // not executable
  }
}

/** Joins paths without normalising them. */
const join = (folder: string, name: string): string =>
  folder === '' ? name : folder.endsWith('/') ? `${folder}${name}` : `${folder}/${name}`;
