import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeStatus, SpawnError, type SpawnOptions } from '../../../src/host/os/index.ts';
import { finish, run, start, terminal } from './fixture.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'native-spawn-')));
afterAll(() => rm(folder, { recursive: true }));

/** The facts of a failed start. */
function failure(argv: readonly string[], options: Partial<SpawnOptions> = {}) {
  try {
    start(argv, options);
  } catch (error) {
    if (error instanceof SpawnError) return { code: error.code, errno: error.errno, step: error.step };
    throw error;
  }
  return 'started';
}

describe('a spawned process', () => {
  it('needs an addon that is ready', () => {
    expect(nativeStatus()).toEqual({ ready: true });
  });

  it('has real pipes, which it can open again through /dev', async () => {
    const { stdout, stderr } = await run([
      'sh',
      '-c',
      'echo one > /dev/stdout; echo two > /dev/stderr; readlink /proc/self/fd/1',
    ]);
    expect(stdout).toMatch(/^one\npipe:\[\d+\]\n$/);
    expect(stderr).toBe('two\n');
  });

  it('reads nothing from a closed standard input', async () => {
    expect((await run(['sh', '-c', 'readlink /proc/self/fd/0; cat'])).stdout).toBe('/dev/null\n');
  });

  it('has a pipe as open standard input', async () => {
    const { stdout } = await run(['readlink', '/proc/self/fd/0'], { io: { type: 'pipe', stdin: 'open' } });
    expect(stdout).toMatch(/^pipe:/);
  });

  it.each([{ type: 'pipe', stdin: 'open' }, terminal] as const)('inherits no other descriptor ($type)', async (io) => {
    const { stdout, pty } = await run(['ls', '/proc/self/fd'], { io });
    expect((stdout + pty).split(/\s+/).filter(Boolean)).toEqual(['0', '1', '2', '3']); // 3 is the directory ls reads
  });

  it('has blocking descriptors', async () => {
    const { stdout } = await run(['sh', '-c', 'for n in 0 1 2; do grep flags /proc/$$/fdinfo/$n; done'], {
      io: { type: 'pipe', stdin: 'open' },
    });
    const flags = stdout
      .trim()
      .split('\n')
      .map((line) => Number.parseInt(line.split('\t')[1]!, 8));
    expect(flags.map((flag) => flag & 0o4000)).toEqual([0, 0, 0]);
  });

  it('starts with default signals, none blocked', async () => {
    const { stdout } = await run(['cat', '/proc/self/status']);
    expect(stdout.match(/Sig(Blk|Ign|Cgt):\t\w+/g)).toEqual([
      'SigBlk:\t0000000000000000',
      'SigIgn:\t0000000000000000',
      'SigCgt:\t0000000000000000',
    ]);
  });

  it.each([{ type: 'pipe', stdin: 'closed' }, terminal] as const)(
    'leads a new session and group ($type)',
    async (io) => {
      const child = start(['cut', '-d', ' ', '-f', '1,5,6', '/proc/self/stat'], { io });
      const { stdout, pty } = await finish(child);
      expect((stdout + pty).trim()).toBe(`${child.pid} ${child.pid} ${child.pid}`);
    },
  );

  it('sees the arg0 it was given, while argv[0] is what runs', async () => {
    const { stdout } = await run(['sh', '-c', 'tr "\\0" "|" < /proc/$$/cmdline; readlink /proc/$$/exe'], {
      arg0: 'other name',
    });
    expect(stdout).toMatch(/^other name\|-c\|.*\|\/(usr\/)?bin\/\w+\n$/);
  });

  it.each(['text', 'bytes'])('runs in its working directory, given as %s', async (kind) => {
    const cwd = kind === 'text' ? folder : Buffer.from(folder);
    expect((await run(['pwd'], { cwd })).stdout).toBe(`${folder}\n`);
  });

  it('has exactly the environment it was given', async () => {
    const env = { A: '1', 'B C': 'x=y', EMPTY: '', TEXT: 'ä\nö' };
    const { stdout } = await run(['/usr/bin/env', '-0'], { env });
    expect(stdout.split('\0').sort()).toEqual(['', 'A=1', 'B C=x=y', 'EMPTY=', 'TEXT=ä\nö']);
  });

  it.each([0, 3, 255])('ends with exit code %d', async (code) => {
    expect((await run(['sh', '-c', `exit ${code}`])).status).toEqual({ code });
  });

  it.each([1, 9, 15])('ends by signal %d', async (signal) => {
    expect((await run(['sh', '-c', `kill -${signal} $$`])).status).toEqual({ signal });
  });
});

describe('the program', () => {
  const script = join(folder, 'script');
  const plain = join(folder, 'plain');
  writeFileSync(script, '#!/bin/sh\necho script\n', { mode: 0o755 });
  writeFileSync(plain, 'no program', { mode: 0o644 });
  writeFileSync(join(folder, 'noise'), 'no program', { mode: 0o755 });

  it('is found in the PATH of its own environment', async () => {
    expect((await run(['script'], { env: { PATH: `/nowhere:${folder}` } })).stdout).toBe('script\n');
  });

  it('is found in the usual places when there is no PATH', async () => {
    expect((await run(['true'], { env: {} })).status).toEqual({ code: 0 });
  });

  it('is found in the working directory by an empty element of PATH', async () => {
    expect((await run(['script'], { cwd: folder, env: { PATH: '/nowhere:' } })).stdout).toBe('script\n');
  });

  it('is relative to the working directory when it has a slash', async () => {
    expect((await run(['./script'], { cwd: folder })).stdout).toBe('script\n');
  });

  it('is searched past a file that may not be run', async () => {
    const other = mkdtempSync(join(folder, 'path-'));
    writeFileSync(join(other, 'script'), 'not executable', { mode: 0o644 });
    expect((await run(['script'], { env: { PATH: `${other}:${folder}` } })).stdout).toBe('script\n');
    expect(failure(['script'], { env: { PATH: `${other}:/nowhere` } })).toEqual({
      code: 'EACCES',
      errno: 13,
      step: 'exec',
    });
  });

  it('reports why it cannot be started', () => {
    expect({
      missing: failure(['no-such-program']),
      missingFile: failure([join(folder, 'missing')]),
      empty: failure(['']),
      notExecutable: failure([plain]),
      directory: failure([folder]),
      noProgram: failure([join(folder, 'noise')]),
      belowFile: failure([join(plain, 'x')]),
      missingCwd: failure(['true'], { cwd: join(folder, 'missing') }),
      fileAsCwd: failure(['true'], { cwd: plain }),
      terminal: failure(['no-such-program'], { io: terminal }),
      nul: failure(['true', 'a\0b']),
      nulInCwd: failure(['true'], { cwd: Buffer.from('/\0') }),
      tooLong: failure(['true', 'x'.repeat(200_000)]),
    }).toEqual({
      missing: { code: 'ENOENT', errno: 2, step: 'exec' },
      missingFile: { code: 'ENOENT', errno: 2, step: 'exec' },
      empty: { code: 'ENOENT', errno: 2, step: 'exec' },
      notExecutable: { code: 'EACCES', errno: 13, step: 'exec' },
      directory: { code: 'EACCES', errno: 13, step: 'exec' },
      noProgram: { code: 'ENOEXEC', errno: 8, step: 'exec' },
      belowFile: { code: 'ENOTDIR', errno: 20, step: 'exec' },
      missingCwd: { code: 'ENOENT', errno: 2, step: 'chdir' },
      fileAsCwd: { code: 'ENOTDIR', errno: 20, step: 'chdir' },
      terminal: { code: 'ENOENT', errno: 2, step: 'exec' },
      nul: { code: 'EINVAL', errno: 22, step: 'encode' },
      nulInCwd: { code: 'EINVAL', errno: 22, step: 'encode' },
      tooLong: { code: 'E2BIG', errno: 7, step: 'exec' },
    });
  });
});
