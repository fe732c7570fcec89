import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';

/** How it ends, in words. */
export function attempt(act: () => void): string {
  try {
    act();
    return 'done';
  } catch (error) {
    return String(error);
  }
}

const LIMIT = 256;

/** So many descriptors are free, and no more, until this is disposed. */
export class Scarcity implements Disposable {
  readonly #taken: number[] = [];

  constructor(free: number) {
    limitTo(LIMIT);
    while (attempt(() => this.#taken.push(openSync('/dev/null', 'r'))) === 'done');
    for (let i = 0; i < free; i++) closeSync(this.#taken.pop()!);
  }

  [Symbol.dispose](): void {
    for (const fd of this.#taken) closeSync(fd);
    limitTo(MORE);
  }
}

const MORE = 1024;
const limitTo = (soft: number) => execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${soft}:`]);

/** How many are open of those that can be while they are scarce. */
export function openDescriptors(): number {
  const numbers = Array.from({ length: LIMIT }, (_, fd) => fd);
  return numbers.filter((fd) => attempt(() => fstatSync(fd)) === 'done').length;
}
