import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from '../support/command.ts';
import { Shelf } from './files-fixture.ts';

let shelf: Shelf;
beforeAll(async () => {
  shelf = await Shelf.open();
});
afterAll(() => shelf[Symbol.asyncDispose]());
beforeEach(() => {
  rmSync(shelf.at('from'), { recursive: true, force: true });
  rmSync(shelf.at('to'), { recursive: true, force: true });
  mkdirSync(shelf.at('from/sub/deep'), { recursive: true });
  writeFileSync(shelf.at('from/small'), 'small');
  writeFileSync(shelf.at('from/sub/large'), randomBytes(3_000_000));
  writeFileSync(shelf.at('from/sub/deep/ü %.txt'), '');
});

const cp = (...args: string[]) => runCommand(['cp', '--connect', shelf.server.url, ...args]);
const differences = (): string =>
  execFileSync('sh', ['-c', 'diff -r "$0" "$1" || true', shelf.at('from'), shelf.at('to')], { encoding: 'utf8' });

describe('cp', () => {
  it('copies a tree to the server and another back, without a word', async () => {
    expect(await cp(shelf.at('from'), `env:${shelf.at('to')}`)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(differences()).toBe('');
    rmSync(shelf.at('from'), { recursive: true });
    expect((await cp(`env:${shelf.at('to')}`, shelf.at('from'))).code).toBe(0);
    expect(differences()).toBe('');
  });

  it('copies into a directory that is there under the own name', async () => {
    mkdirSync(shelf.at('to'));
    await cp(shelf.at('from/small'), `env:${shelf.at('to')}`);
    expect(readFileSync(shelf.at('to/small'), 'utf8')).toBe('small');
  });

  it('sums up as JSON', async () => {
    const { stdout } = await cp('--json', shelf.at('from'), `env:${shelf.at('to')}`);
    expect(JSON.parse(stdout)).toEqual({
      files: 3,
      directories: 3,
      bytes: 3_000_005,
      seconds: expect.any(Number),
      skipped: [],
      failures: [],
    });
  });

  it('copies what it can, names the rest, and says by its exit code that there is some', async () => {
    symlinkSync('sub', shelf.at('from/link'));
    execFileSync('mkfifo', [shelf.at('from/fifo')]);
    const { code, stderr } = await cp(`env:${shelf.at('from')}`, shelf.at('to'));
    expect(code).toBe(1);
    expect(stderr.split('\n').sort()).toEqual([
      '',
      `Error: env:${shelf.at('from/fifo')}: is neither a file nor a directory`,
      `Left out: env:${shelf.at('from/link')} is a link to a directory`,
    ]);
    expect(readFileSync(shelf.at('to/small'), 'utf8')).toBe('small');
  });

  it('tells a missing source, a wrong usage and an absent server apart', async () => {
    expect(await cp(`env:${shelf.at('nowhere')}`, shelf.at('to'))).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: env:${shelf.at('nowhere')}: No such file or directory (os error 2)\n`,
    });
    expect((await runCommand(['cp', 'one'])).code).toBe(2);
    expect((await runCommand(['cp', 'env:/a', 'b'])).code).toBe(2);
    expect((await cp('env:relative', 'b')).code).toBe(2);
    expect((await runCommand(['cp', '--connect', 'ws://127.0.0.1:1', 'env:/a', 'b'])).code).toBe(255);
  });
});

describe('the one-shot helper', () => {
  const order = (operation: string, params: object) =>
    runCommand(['--codex-run-as-fs-helper'], {}, `${JSON.stringify({ operation, params })}\n`);

  it('carries out one operation and prints one line', async () => {
    const { code, stdout } = await order('fs/readFile', { path: shelf.uri('from/small'), sandbox: null });
    expect({ code, outcome: JSON.parse(stdout) }).toEqual({
      code: 0,
      outcome: { status: 'ok', payload: { operation: 'fs/readFile', response: { dataBase64: 'c21hbGw=' } } },
    });
  });

  it('prints the error a client would get', async () => {
    const { stdout } = await order('fs/readFile', { path: shelf.uri('nowhere'), sandbox: null });
    expect(JSON.parse(stdout)).toEqual({
      status: 'error',
      payload: { code: -32004, message: 'No such file or directory (os error 2)' },
    });
    expect(JSON.parse((await order('process/start', {})).stdout).payload.code).toBe(-32600);
  });
});
