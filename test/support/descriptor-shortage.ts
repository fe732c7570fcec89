import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';

/** `done`, or the error that was thrown. */
export function attempt(act: () => void): string {
  try {
    act();
    return 'done';
  } catch (error) {
    return String(error);
  }
}

const LIMIT = 256;

/** Leaves this process only `free` unused descriptors until it is disposed. */
export class DescriptorShortage implements Disposable {
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

/** How many descriptors are open among those that the shortage allows. */
export function openDescriptors(): number {
  const numbers = Array.from({ length: LIMIT }, (_, fd) => fd);
  return numbers.filter((fd) => attempt(() => fstatSync(fd)) === 'done').length;
}
