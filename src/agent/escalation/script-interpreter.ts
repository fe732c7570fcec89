import { closeSync, openSync, readSync } from 'node:fs';

/** The kernel reads no more of a file to find its interpreter. */
const LONGEST_FIRST_LINE = 256;

/** The program that the first line of a script names; undefined for other files and unreadable ones. */
export function scriptInterpreter(path: string): string | undefined {
  const start = firstBytes(path);
  if (start?.startsWith('#!') !== true) return undefined;
  return /^#![ \t]*([^ \t\n]+)/.exec(start)?.[1];
}

function firstBytes(path: string): string | undefined {
  try {
    const descriptor = openSync(path, 'r');
    try {
      const room = Buffer.alloc(LONGEST_FIRST_LINE);
      return room.toString('latin1', 0, readSync(descriptor, room));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined; // a program can be executable without being readable
  }
}
