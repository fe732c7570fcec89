import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { tracePath } from './path-trace.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'trace-')));
afterAll(() => rmSync(root, { recursive: true }));
mkdirSync(join(root, 'a/b'), { recursive: true });
writeFileSync(join(root, 'a/file'), '');
symlinkSync('b', join(root, 'a/short'));
symlinkSync(join(root, 'a'), join(root, 'long'));
symlinkSync('loop', join(root, 'loop'));

const below = (visited: readonly string[]): string[] =>
  visited.filter((place) => place.startsWith(`${root}/`)).map((place) => place.slice(root.length + 1));

describe('the way to a file', () => {
  it.each([
    ['a/file', 'a/file', ['a', 'a/file']],
    ['a/./b/../file', 'a/file', ['a', 'a/b', 'a/file']],
    ['long/file', 'a/file', ['long', 'a', 'a/file']],
    ['a/short/../file', 'a/file', ['a', 'a/short', 'a/b', 'a/file']],
    ['long/short', 'a/b', ['long', 'a', 'a/short', 'a/b']],
  ])('%s leads to %s by way of every directory and link', (path, real, visited) => {
    const trace = tracePath(join(root, '/') + path);

    expect(trace?.real).toBe(join(root, real));
    expect(below(trace!.visited)).toEqual(visited);
  });

  it('goes where the kernel goes: dots count after links', () => {
    symlinkSync(join(root, 'a/b'), join(root, 'deep'));

    expect(tracePath(`${root}/deep/../file`)?.real).toBe(join(root, 'a/file'));
  });

  it('leads nowhere when something is missing or links go round', () => {
    expect(tracePath(`${root}/a/missing/file`)).toBeUndefined();
    expect(tracePath(`${root}/loop`)).toBeUndefined();
  });
});
