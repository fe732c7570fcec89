import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { startServer } from '../../support/server.ts';
import { FilesFixture } from './fixture.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await FilesFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());
beforeEach(() => {
  rmSync(fixture.at('from'), { recursive: true, force: true });
  rmSync(fixture.at('to'), { recursive: true, force: true });
  mkdirSync(fixture.at('from/sub/deep'), { recursive: true });
  writeFileSync(fixture.at('from/small'), 'small');
  writeFileSync(fixture.at('from/sub/large'), randomBytes(3_000_000));
  writeFileSync(fixture.at('from/sub/deep/ü %.txt'), '');
});

const cp = (...args: string[]) => runCommand(['cp', '--connect', fixture.server.url, ...args]);
const differences = (): string =>
  execFileSync('sh', ['-c', 'diff -r "$0" "$1" || true', fixture.at('from'), fixture.at('to')], { encoding: 'utf8' });

/** Path, type, permissions and target of everything in a directory; links have no permissions of their own. */
const described = (folder: string): string[] =>
  execFileSync('sh', ['-c', 'cd "$0" && find . ! -type l -printf "%P %y %m\\0" -o -printf "%P %y %l\\0"', folder])
    .toString()
    .split('\0')
    .sort();

describe('cp', () => {
  it('copies a tree to the server and another back, and prints nothing', async () => {
    expect(await cp(fixture.at('from'), `env:${fixture.at('to')}`)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(differences()).toBe('');
    rmSync(fixture.at('from'), { recursive: true });
    expect((await cp(`env:${fixture.at('to')}`, fixture.at('from'))).code).toBe(0);
    expect(differences()).toBe('');
  });

  it('copies into a directory that is there under the own name', async () => {
    mkdirSync(fixture.at('to'));
    await cp(fixture.at('from/small'), `env:${fixture.at('to')}`);
    expect(readFileSync(fixture.at('to/small'), 'utf8')).toBe('small');
  });

  it.each([
    ['to the server', '', 'env:'],
    ['from the server', 'env:', ''],
  ])('copies a tree into a directory of its own once: %s', async (_, from, to) => {
    const before = described(fixture.at('from'));

    const outcome = await cp(`${from}${fixture.at('from')}`, `${to}${fixture.at('from/sub/copy')}`);

    expect(outcome).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(described(fixture.at('from/sub/copy'))).toEqual(before);
  });

  it.each([
    ['to the server', '', 'env:'],
    ['from the server', 'env:', ''],
  ])('makes no file of a name that ends in a slash: %s', async (_, from, to) => {
    const missing = `${to}${fixture.at('to')}/`;

    const { code, stderr } = await cp(`${from}${fixture.at('from/small')}`, missing);

    expect(stderr).toBe(`Error: ${missing}: no such directory; make it, or leave out the / at the end\n`);
    expect(code).toBe(1);
    expect(existsSync(fixture.at('to'))).toBe(false);
    expect((await cp(`${from}${fixture.at('from/small')}/`, `${to}${fixture.at('to')}`)).stderr).toContain(
      'not a directory',
    );
    expect((await cp(`${from}${fixture.at('from')}/`, missing)).code).toBe(0);
    expect(differences()).toBe('');
  });

  it('says when neither path is on the server that was named', async () => {
    const { code, stderr } = await cp(fixture.at('from/small'), fixture.at('to'));

    expect(stderr).toContain('error: neither path is on the server: begin one of them with env:, such as env:/tmp/x');
    expect(code).toBe(2);
    expect(existsSync(fixture.at('to'))).toBe(false);
  });

  it('names a token file that is empty', async () => {
    writeFileSync(fixture.at('from/small'), '\n');

    const { code, stderr } = await cp(
      '--token-file',
      fixture.at('from/small'),
      fixture.at('from'),
      `env:${fixture.at('to')}`,
    );

    expect(stderr).toContain(`error: the token file ${fixture.at('from/small')} is empty: write the token into it`);
    expect(code).toBe(2);
  });

  it('sums up as JSON', async () => {
    const { stdout } = await cp('--json', fixture.at('from'), `env:${fixture.at('to')}`);
    expect(JSON.parse(stdout)).toEqual({
      files: 3,
      directories: 3,
      links: 0,
      bytes: 3_000_005,
      seconds: expect.any(Number),
      skipped: [],
      failures: [],
    });
  });

  it.each([
    ['from the server', (from: string, to: string) => [`env:${from}`, to]],
    ['to the server', (from: string, to: string) => [from, `env:${to}`]],
  ])('keeps links and permissions %s', async (_, sides) => {
    symlinkSync('sub', fixture.at('from/to-directory'));
    symlinkSync('../from/small', fixture.at('from/sub/to file\n'));
    symlinkSync('/nowhere at all', fixture.at('from/dangling'));
    chmodSync(fixture.at('from/small'), 0o640);
    chmodSync(fixture.at('from/sub/large'), 0o755);
    chmodSync(fixture.at('from/sub/deep'), 0o711);
    chmodSync(fixture.at('from/sub'), 0o500);

    expect(await cp(...sides(fixture.at('from'), fixture.at('to')))).toEqual({ code: 0, stdout: '', stderr: '' });

    expect(described(fixture.at('to'))).toEqual(described(fixture.at('from')));
    expect(described(fixture.at('to'))).toContain('dangling l /nowhere at all');
  });

  it('copies what it can, names the rest, and says by its exit code that there is some', async () => {
    execFileSync('mkfifo', [fixture.at('from/fifo')]);
    writeFileSync(Buffer.concat([Buffer.from(`${fixture.at('from')}/`), Buffer.from([0x66, 0xff])]), '');
    for (const [source, target] of [
      [`env:${fixture.at('from')}`, fixture.at('to')],
      [fixture.at('from'), `env:${fixture.at('to')}`],
    ] as const) {
      const { code, stderr } = await cp(source, target);
      expect([code, ...stderr.split('\n').sort()]).toEqual([
        1,
        '',
        `Error: ${source}/f\ufffd: its name is not UTF-8`,
        `Left out: ${source}/fifo is a named pipe`,
      ]);
      expect(readFileSync(fixture.at('to/small'), 'utf8')).toBe('small');
      rmSync(fixture.at('to'), { recursive: true });
    }
  });

  it('names the side on which something went wrong', async () => {
    writeFileSync(fixture.at('to'), 'a file, no directory');
    const small = fixture.at('from/small');
    const inFile = fixture.at('to/x');

    expect((await cp(`env:${small}`, inFile)).stderr).toMatch(`Error: ${inFile}: not a directory`);
    expect((await cp(small, `env:${inFile}`)).stderr).toMatch(`Error: env:${inFile}: not a directory`);
    expect((await cp(`env:${small}`, '/dev/null/x')).stderr).toMatch('Error: /dev/null/x: not a directory');
    mkdirSync(fixture.at('from/to'));
    rmSync(fixture.at('to'));
    mkdirSync(fixture.at('to/small'), { recursive: true });
    expect((await cp(`env:${small}`, fixture.at('to'))).stderr).toMatch(`Error: ${fixture.at('to/small')}: `);
    expect((await cp(small, `env:${fixture.at('to')}`)).stderr).toMatch(`Error: env:${fixture.at('to/small')}: `);
  });

  it.each([
    ['on the server', '', 'env:'],
    ['here', 'env:', ''],
  ])('says in words what is in the way %s, and what was therefore left out', async (_, from, to) => {
    const source = `${from}${fixture.at('from')}`;
    const place = (name: string): string => `${to}${fixture.at(name)}`;
    mkdirSync(fixture.at('to/from'), { recursive: true });
    writeFileSync(fixture.at('to/from/sub'), 'a file');
    writeFileSync(fixture.at('to/file'), 'a file');
    for (let at = 0; at < 40; at++) writeFileSync(fixture.at(`from/${at}`), 'one of many at a time');
    mkdirSync(fixture.at('to/small'));

    const lines = async (...paths: [string, string]) => (await cp(...paths)).stderr.split('\n').sort().slice(1);
    expect(await lines(source, place('to'))).toEqual(
      [
        `Error: ${place('to/from/sub')}: is a file where a directory is to be copied; remove it`,
        `Error: ${source}/sub/deep/ü %.txt: its directory was not copied`,
        `Error: ${source}/sub/deep: its directory was not copied`,
        `Error: ${source}/sub/large: its directory was not copied`,
      ].sort(),
    );
    expect(await lines(source, place('to/file'))).toEqual([
      `Error: ${place('to/file')}: is a file where a directory is to be copied; remove it`,
    ]);
    expect(await lines(`${source}/small`, place('to'))).toEqual([
      `Error: ${place('to/small')}: is a directory where a file is to be copied; remove it`,
    ]);
    expect(await lines(`${source}/small`, place('to/missing/x'))).toEqual([
      `Error: ${place('to/missing')}: no such file or directory`,
    ]);
    expect(await lines(source, `${to}/proc/nothing`)).toEqual([`Error: ${to}/proc/nothing: no such file or directory`]);
  });

  it('tells of one file among many what is in its way, and replaces a link without following it', async () => {
    for (let at = 0; at < 60; at++) writeFileSync(fixture.at(`from/${at} of many`), `content ${at}`);
    mkdirSync(fixture.at('to/from/7 of many'), { recursive: true });
    mkdirSync(fixture.at('to/elsewhere'));
    symlinkSync('../elsewhere', fixture.at('to/from/8 of many'));
    writeFileSync(fixture.at('to/outside'), 'stays');
    symlinkSync('../outside', fixture.at('to/from/9 of many'));

    const { code, stderr } = await cp(fixture.at('from'), `env:${fixture.at('to')}`);

    const place = `env:${fixture.at('to/from/7 of many')}`;
    expect([code, stderr]).toEqual([1, `Error: ${place}: is a directory where a file is to be copied; remove it\n`]);
    rmSync(fixture.at('to/from/7 of many'), { recursive: true });
    rmSync(fixture.at('from/7 of many'));
    expect(described(fixture.at('to/from'))).toEqual(described(fixture.at('from')));
    expect(readFileSync(fixture.at('to/from/9 of many'), 'utf8')).toBe('content 9');
    expect(readFileSync(fixture.at('to/outside'), 'utf8')).toBe('stays');
    expect(described(fixture.at('to/elsewhere'))).toHaveLength(2); // itself, and the end of the text
  });

  it('moves files of one directory together', async () => {
    for (let at = 0; at < 300; at++) writeFileSync(fixture.at(`from/${at}`), 'one of many');
    mkdirSync(fixture.at('to'));
    mkdirSync(fixture.at('programs'));
    const counting = `#!/bin/sh\necho moved >>'${fixture.at('programs/count')}'\nexec /bin/mv "$@"\n`;
    writeFileSync(fixture.at('programs/mv'), counting, { mode: 0o755 });
    await using server = await startServer({ env: { PATH: `${fixture.at('programs')}:${process.env.PATH}` } });

    const copied = await runCommand(['cp', '--connect', server.url, fixture.at('from'), `env:${fixture.at('to')}`]);

    expect(copied).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(described(fixture.at('to/from'))).toEqual(described(fixture.at('from')));
    expect(readFileSync(fixture.at('programs/count'), 'utf8').split('\n').length).toBeLessThan(200);
  });

  it('does not copy a link whose target is not UTF-8 as another link', async () => {
    symlinkSync(Buffer.from([0x66, 0xff]), fixture.at('from/link'));

    const { code, stderr } = await cp(fixture.at('from'), `env:${fixture.at('to')}`);

    expect([code, stderr]).toEqual([1, `Error: ${fixture.at('from/link')}: it is a link whose target is not UTF-8\n`]);
    expect(described(fixture.at('to')).filter((line) => line.startsWith('link'))).toEqual([]);
  });

  it('tells a missing source, a wrong usage and an absent server apart', async () => {
    expect(await cp(`env:${fixture.at('nowhere')}`, fixture.at('to'))).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: env:${fixture.at('nowhere')}: no such file or directory\n`,
    });
    expect((await runCommand(['cp', 'one'])).code).toBe(2);
    expect((await cp('', `env:${fixture.at('to')}`)).code).toBe(2);
    expect((await runCommand(['cp', 'env:/a', 'b'])).code).toBe(2);
    expect((await cp('env:relative', 'b')).code).toBe(2);
    expect((await runCommand(['cp', '--connect', 'ws://127.0.0.1:1', 'env:/a', 'b'])).code).toBe(255);
  });
});

describe('the one-shot helper', () => {
  const order = (operation: string, params: object) =>
    runCommand(['--codex-run-as-fs-helper'], {}, `${JSON.stringify({ operation, params })}\n`);

  it('carries out one operation and prints one line', async () => {
    const { code, stdout } = await order('fs/readFile', { path: fixture.uri('from/small'), sandbox: null });
    expect({ code, outcome: JSON.parse(stdout) }).toEqual({
      code: 0,
      outcome: { status: 'ok', payload: { operation: 'fs/readFile', response: { dataBase64: 'c21hbGw=' } } },
    });
  });

  it('prints the error a client would get', async () => {
    const { stdout } = await order('fs/readFile', { path: fixture.uri('nowhere'), sandbox: null });
    expect(JSON.parse(stdout)).toEqual({
      status: 'error',
      payload: { code: -32004, message: 'No such file or directory (os error 2)' },
    });
    expect(JSON.parse((await order('process/start', {})).stdout).payload.code).toBe(-32600);
  });
});
