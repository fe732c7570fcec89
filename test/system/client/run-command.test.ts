import { spawn as spawnPlain } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { spawn } from '../../../src/host/os/index.ts';
import { runCommand } from '../../support/command.ts';
import { serverProgram, startServer } from '../../support/server.ts';

describe('exec-server run', () => {
  it('passes stdin, both streams and the exit code through, here and on a server', async () => {
    await using server = await startServer();
    const command = ['--', 'sh', '-c', 'cat; echo trouble >&2; exit 5'];
    const expected = { stdout: 'hello\n', stderr: 'trouble\n', code: 5 };

    expect(await runCommand(['run', ...command], {}, 'hello\n')).toEqual(expected);
    expect(await runCommand(['run', '--connect', server.url, ...command], {}, 'hello\n')).toEqual(expected);
  });

  it('sets the directory and the variables it is told', async () => {
    const told = ['-C', '/usr', '-e', 'A=1', '--env', 'B=2=3'];

    const outcome = await runCommand(['run', ...told, '--', 'sh', '-c', 'pwd; echo $A $B']);

    expect(outcome).toEqual({ stdout: '/usr\n1 2=3\n', stderr: '', code: 0 });
  });

  it('passes signals on and reports the end they bring', async () => {
    await using server = await startServer();
    const command = ['--', 'sh', '-c', 'echo ready; exec sleep 1000'];
    const child = spawnPlain(process.execPath, [serverProgram, 'run', '--connect', server.url, ...command]);
    await once(child.stdout, 'data');

    child.kill('SIGTERM');

    expect(await once(child, 'close')).toEqual([143, null]);
  });

  it('gives a terminal of the size of its own, and follows its changes', async () => {
    await using server = await startServer();
    const script = 'trap "stty size; exit 3" WINCH; stty size; while :; do sleep 0.05; done';
    const argv = [process.execPath, serverProgram, 'run', '--connect', server.url, '-t', '--', 'sh', '-c', script];
    const env = { PATH: process.env.PATH ?? '' };
    const child = spawn({ argv, cwd: '/', env, io: { type: 'pty', rows: 30, cols: 100 }, mark: 0n });
    let seen = '';
    for await (const event of child.events) {
      if (event.type !== 'output') continue;
      const { buffer, start, end } = event.chunk;
      // Node leaves a raw terminal adding a carriage return of its own to the one that comes over the wire.
      seen += Buffer.from(buffer.toString('latin1', start, end), 'base64')
        .toString()
        .replaceAll('\r', '');
      if (seen === '30 100\n') child.resize(31, 101);
    }

    expect(seen).toBe('30 100\n31 101\n');
    expect(await child.exited).toEqual({ code: 3 });
  });

  it('gives a terminal of the usual size where its own has none', async () => {
    const argv = [process.execPath, serverProgram, 'run', '-t', '--', 'stty', 'size'];
    const env = { PATH: process.env.PATH ?? '' };
    const child = spawn({ argv, cwd: '/', env, io: { type: 'pty', rows: 0, cols: 0 }, mark: 0n });
    let seen = '';
    for await (const event of child.events) {
      if (event.type !== 'output') continue;
      const { buffer, start, end } = event.chunk;
      seen += Buffer.from(buffer.toString('latin1', start, end), 'base64').toString();
    }

    expect(seen.trim()).toBe('24 80');
    expect(await child.exited).toEqual({ code: 0 });
  });

  it('ends with 255 and the reason when the command or the server is not there', async () => {
    const failing = async (...args: string[]) => {
      const { stdout, stderr, code } = await runCommand(['run', ...args]);
      expect([stdout, code]).toEqual(['', 255]);
      return stderr;
    };

    expect(await failing('-e', 'PATH=/usr/bin:/bin', '--', 'no-such-program')).toBe(
      'Error: cannot start no-such-program: command not found on PATH (/usr/bin:/bin)\n',
    );
    expect(await failing('-C', '/no/such/place', '--', 'true')).toBe(
      'Error: cannot start true: its directory /no/such/place does not exist\n',
    );
    expect(await failing('-C', '/', '--', '/no/such/program')).toBe(
      'Error: cannot start /no/such/program: there is no file /no/such/program, or its interpreter is missing\n',
    );
    expect(await failing('--connect', 'ws://127.0.0.1:1', '--', 'true')).toBe(
      'Error: cannot connect to ws://127.0.0.1:1: no server listens there (ECONNREFUSED)\n',
    );
  });

  it('says that a server without TLS has none', async () => {
    await using server = await startServer();
    const { stderr, code } = await runCommand(['run', '--connect', server.url.replace('ws:', 'wss:'), '--', 'true']);

    expect([code, stderr]).toEqual([
      255,
      `Error: cannot connect to ${server.url.replace('ws:', 'wss:')}: the server does not speak TLS; use ws:// on a network that you trust\n`,
    ]);
  });

  it.each([
    [['-C', 'here'], "invalid value 'here' for --cwd: expected an absolute directory"],
    [
      ['--connect', 'nowhere'],
      "invalid value 'nowhere' for --connect: expected ws://HOST:PORT, wss://HOST:PORT or unix:/PATH",
    ],
    [['--connect', 'ftp://x/#token=secret'], "invalid value 'ftp://x/' for --connect: expected"],
    [['--connect', 'ws://127.0.0.1:99999'], "invalid value 'ws://127.0.0.1:99999' for --connect: expected"],
  ])('calls %j wrong usage', async (args, reason) => {
    const { stderr, code } = await runCommand(['run', ...args, '--', 'true']);

    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
    expect(stderr).not.toContain('secret');
  });

  it('explains itself, and what is wrong with a call', async () => {
    const { stdout, code } = await runCommand(['run', '--help']);

    expect(code).toBe(0);
    for (const flag of ['--connect', '--token-file', '--tty', '--cwd', '--env']) expect(stdout).toContain(flag);
    expect(await runCommand(['run'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a command is required'),
    });
    expect((await runCommand(['run', '--', ''])).stderr).toContain('error: a command is required after --\n');
    expect((await runCommand(['run', 'ls', '-l'])).stderr).toContain(
      "error: unexpected argument '-l'; put -- before the command\n",
    );
  });
});
