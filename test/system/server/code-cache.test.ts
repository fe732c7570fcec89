import { readdirSync, readFileSync } from 'node:fs';
import Module from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { serverProgram } from '../../support/server.ts';

const folder = dirname(serverProgram);
const caches = readdirSync(folder).filter((name) => name.endsWith('.cache'));

/** V8 refuses a cache in silence, and the server then only starts later. */
function isRefused(cache: string): boolean | undefined {
  const filename = join(folder, cache.slice(0, -'.cache'.length));
  const source = (Module as unknown as { wrap(text: string): string }).wrap(readFileSync(filename, 'utf8'));
  return new Script(source, { filename, cachedData: readFileSync(join(folder, cache)) }).cachedDataRejected;
}

const programs = readdirSync(folder).filter((name) => name.endsWith('.cjs'));

test('programs are ASCII: the launcher reads a byte as a character', () => {
  expect(programs).toContain('main.cjs');
  const others = programs.filter((name) => readFileSync(join(folder, name)).some((byte) => byte > 127));
  expect(others).toEqual([]);
});

test('neither schemas nor sandboxes are loaded before the address is printed', () => {
  const start = programs
    .filter((name) => name.startsWith('start-'))
    .map((name) => readFileSync(join(folder, name), 'latin1'));
  expect(start).toHaveLength(1);
  expect(start[0]).not.toMatch(/_zod|bwrap/);
});

test('the Node that built the server takes all the compiled code that was saved', () => {
  expect(caches).toContain('main.cjs.cache');
  expect(caches.filter(isRefused)).toEqual([]);
});
