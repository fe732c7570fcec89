import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/proc.ts';
import { serverProgram, startServer } from '../../support/server.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exec-server-cp-'));
  mkdirSync(join(folder, 'to'));
  writeFileSync(join(folder, 'large'), '');
  truncateSync(join(folder, 'large'), 64 * 2 ** 30); // a hole: more than can be copied in the time of a test
  writeFileSync(join(folder, 'to/large'), 'the content before');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Copying {
  readonly process: ChildProcess;
  readonly ended: Promise<unknown[]>;
  readonly stderr: Promise<string>;
}

function startCopy(...args: string[]): Copying {
  const process_ = spawn(process.execPath, [serverProgram, 'cp', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  return { process: process_, ended: once(process_, 'exit'), stderr: text(process_.stderr!) };
}

/** Bytes in all files below the destination. */
function bytesIn(directory: string): number {
  const sizes = readdirSync(directory, { recursive: true, withFileTypes: true }).map((entry) => {
    return entry.isFile() ? (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0) : 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

const underWay = (): Promise<void> => eventually('a part of the file', () => bytesIn(join(folder, 'to')) > 4_000_000);

const untouched = (): void => {
  expect(readdirSync(join(folder, 'to'))).toEqual(['large']);
  expect(readFileSync(join(folder, 'to/large'), 'utf8')).toBe('the content before');
};

describe('a copy that is cut short', () => {
  it.each([
    ['here', (path: string) => `env:${path}`, (path: string) => path],
    ['on the server', (path: string) => path, (path: string) => `env:${path}`],
  ])('leaves nothing half-written %s when it is interrupted', async (_, from, to) => {
    await using server = await startServer();
    const copy = startCopy('--connect', server.url, from(join(folder, 'large')), to(join(folder, 'to')));
    await underWay();

    copy.process.kill('SIGINT');

    expect(await copy.ended).toEqual([130, null]);
    expect(await copy.stderr).toBe('');
    untouched();
  });

  it('leaves nothing half-written when one Ctrl-C comes twice, as from npx', async () => {
    await using server = await startServer();
    const copy = startCopy('--connect', server.url, join(folder, 'large'), `env:${join(folder, 'to')}`);
    await underWay();

    copy.process.kill('SIGINT');
    copy.process.kill('SIGINT');
    await eventually('the part to be removed', () => bytesIn(join(folder, 'to')) < 4_000_000);
    copy.process.kill('SIGINT');

    // The last one may meet a process that has cleaned up and no longer listens; shells report 130 for both.
    expect([
      [130, null],
      [null, 'SIGINT'],
    ]).toContainEqual(await copy.ended);
    untouched();
  });

  it('keeps the old file and leaves no other when the server is lost', async () => {
    const server = await startServer();
    const copy = startCopy('--connect', server.url, `env:${join(folder, 'large')}`, join(folder, 'to'));
    await underWay();

    await server.stop('SIGKILL');

    expect(await copy.ended).toEqual([255, null]);
    expect(await copy.stderr).toMatch(/^Error: the connection was lost.*\n$/);
    untouched();
  });
});
