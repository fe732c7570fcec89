import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The path and all directories above it, nearest first. */
export function ancestors(path: string): string[] {
  const folders = [path];
  for (let folder = path; dirname(folder) !== folder; ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}

export const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined; // missing, or out of reach

export const isDirectory = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() ?? false; // missing, or out of reach

/** The path without links; a missing path as it is. */
export const resolveLinks = (path: string): Promise<string> => realpath(path).catch(() => path); // missing, or out of reach
