import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { confine } from './confine.ts';
import type { Policy } from './policy.ts';

const command = { argv: ['true'], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'closed' } } as const;

const reading = (path: string): Policy => ({
  network: 'restricted',
  unrestricted: false,
  rules: [{ path, access: 'read', skipMissing: false }],
  deniedGlobs: [],
  globDepth: undefined,
  minimal: true,
});

it('a path with a NUL is no way to slip the launcher an option', () => {
  expect(confine(command, reading('/usr')).refused).toBe(false);
  expect(confine(command, reading('/usr\0--share-net')).refused).toBe(true);
});

it('a command for which descriptors are missing leaves none open', () => {
  const options = { managedNetwork: { HTTP_PROXY: 'http://127.0.0.1:1' }, watch: true };
  confine(command, reading('/usr'), options).claim[Symbol.dispose](); // what is opened once is open
  const outcomes = [0, 2, 4, 6, 20].map((free) => {
    using _scarcity = new Scarcity(free);
    const before = openDescriptors();
    const outcome = attempt(() => confine(command, reading('/usr'), options).claim[Symbol.dispose]());
    return [outcome, openDescriptors() - before];
  });

  expect(outcomes[1]).toEqual([expect.stringContaining('Error'), 0]);
  expect(outcomes.map(([, left]) => left)).toEqual([0, 0, 0, 0, 0]);
  expect(outcomes.at(-1)).toEqual(['done', 0]);
});

function attempt(act: () => void): string {
  try {
    act();
    return 'done';
  } catch (error) {
    return String(error);
  }
}

const LIMIT = 256;

/** So many descriptors are free, and no more, until this is disposed. */
class Scarcity implements Disposable {
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

function openDescriptors(): number {
  const numbers = Array.from({ length: LIMIT }, (_, fd) => fd);
  return numbers.filter((fd) => attempt(() => fstatSync(fd)) === 'done').length;
}
