import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/proc.ts';
import { serverProgram, startServer, TestServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';

const injection = fileURLToPath(new URL('../../support/fault-injection.cjs', import.meta.url));

/** A server that makes a mistake of this kind when it gets SIGUSR2. */
function startFaulty(fault: 'rejection' | 'exception' | 'descriptor'): Promise<TestServer> {
  return startServer({ env: { NODE_OPTIONS: `--require ${injection}`, INJECTED_FAULT: fault } });
}

/** Starts a server whose log has a reader that takes nothing at first. */
const stoppedReaders = {
  'a pipe':
    'fifo=$1; shift; mkfifo "$fifo"; sh -c \'echo $$; kill -STOP $$; exec cat\' < "$fifo" >&2 & exec "$@" 2> "$fifo" >&3',
  'a socket': 'shift; exec "$@" >&3', // which the test itself does not read
};

async function runsCommands(server: TestServer): Promise<void> {
  await using client = await connect(server.url);
  const process = await client.start({ argv: ['echo', 'served'] });
  await process.closed();
  expect(process.output()).toBe('served\n');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('a server', () => {
  it.each(['rejection', 'descriptor'] as const)(
    'logs a fault that concerns one piece of work with stack and cause, and goes on serving (%s)',
    async (fault) => {
      await using server = await startFaulty(fault);
      await using client = await connect(server.url);
      const before = await client.start({ argv: ['cat'], pipeStdin: true });

      server.process.kill('SIGUSR2');

      const logged = await server.lineOf('fault.confined');
      expect(logged).toMatchObject({ error: 'an injected slip', cause: expect.stringContaining('the deeper reason') });
      expect(logged.stack).toContain('fault-injection.cjs');
      await client.call('process/closeStdin', { processId: before.id });
      await before.closed();
      await runsCommands(server);
    },
  );

  it('stops in order after any other fault: children end by themselves, their output arrives, the exit code is 1', async () => {
    const server = await startFaulty('exception');
    const client = await connect(server.url);
    const child = await client.start({
      argv: ['sh', '-c', 'exec 2>/dev/null; trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.01; done'],
    });
    await child.printed('ready\n');

    server.process.kill('SIGUSR2');

    expect(await server.lineOf('fault.fatal')).toMatchObject({ error: 'an injected slip' });
    expect(await child.exited()).toBe(3);
    expect(child.output()).toBe('ready\nbye\n');
    expect(await client.closed).toBe(1001);
    expect(await server.ended()).toBe(1);
  });

  it('does not end when the reader of its log is gone', async () => {
    await using server = await startServer({ env: { EXEC_SERVER_LOG: 'debug' } });
    server.process.stderr!.destroy();
    await runsCommands(server); // which is logged
    await runsCommands(server);
    expect(server.process.exitCode).toBe(null);
  });

  it.each(Object.entries(stoppedReaders))(
    'goes on serving when the reader of its log is stopped, behind %s',
    async (_, script) => {
      const folder = await mkdtemp(join(tmpdir(), 'server-faults-'));
      const command = [process.execPath, serverProgram, '--listen', 'ws://127.0.0.1:0'];
      const child = spawn('sh', ['-c', script, 'sh', join(folder, 'fifo'), ...command], {
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
        env: { ...process.env, EXEC_SERVER_LOG: 'debug' },
      });
      const [url] = (await once(createInterface({ input: child.stdio[3] as Readable }), 'line')) as [string];
      {
        await using client = await connect(url);
        for (let n = 0; n < 20_000; n++) client.raw('no message');
        await client.call('environment/info');
      }

      let log = '';
      child.stderr!.on('data', (text) => {
        log += text;
      });
      await eventually('the log', () => log.includes('\n'));
      const reader = /^\d+$/m.exec(log)?.[0];
      if (reader) process.kill(Number(reader), 'SIGCONT');
      await eventually('the number of lines', () => /"event":"log.dropped","lines":\d+/.test(log));
      child.kill('SIGTERM');
      await once(child, 'close');
      await rm(folder, { recursive: true });
    },
  );

  it('does not end when the reader of its standard output is gone', async () => {
    const url = `ws://127.0.0.1:${await freePort()}`;
    const child = spawn(process.execPath, [serverProgram, '--listen', url], { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout!.destroy();
    await using server = new TestServer(url, child);
    await expect.poll(() => runsCommands(server).then(() => 'served', String), { timeout: 10_000 }).toBe('served');
  });

  it('does not end when a directory on the way to a watched path becomes a file', async () => {
    await using server = await startServer();
    await changesOnTheWay(server, async (folder) => {
      await rm(join(folder, 'a/b'), { recursive: true });
      await writeFile(join(folder, 'a/b'), '');
      await rm(join(folder, 'a'), { recursive: true });
      await writeFile(join(folder, 'a'), '');
    });
  });

  it('does not end when a directory on the way to a watched path becomes a link to itself', async () => {
    await using server = await startServer();
    await changesOnTheWay(server, async (folder) => {
      await rm(join(folder, 'a/b'), { recursive: true });
      await symlink('b', join(folder, 'a/b'));
      await rm(join(folder, 'a'), { recursive: true });
      await symlink('a', join(folder, 'a'));
    });
  });

  it('does not end when a directory on the way to a watched path is closed to its user', async () => {
    await using server = await startServer({ uid: ORDINARY_USER });
    await changesOnTheWay(server, async (folder) => {
      await chmod(join(folder, 'a/b'), 0);
      await chmod(join(folder, 'a'), 0);
    });
  });
});

const ORDINARY_USER = 65534;

/** Watches a missing path, changes the directories above it, and expects the server to go on and to answer about it again. */
async function changesOnTheWay(server: TestServer, change: (folder: string) => Promise<void>): Promise<void> {
  await using client = await connect(server.url);
  const folder = await mkdtemp(join(tmpdir(), 'server-faults-'));
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'a/b'), { recursive: true });
  const missing = [`file://${folder}/a/b/c/d`];
  expect(await client.call('fs/watchMissing', { watchId: 1, missing })).toEqual({ watching: true });

  await change(folder);

  await runsCommands(server);
  expect(await client.call('fs/watchMissing', { watchId: 2, missing })).toEqual({ watching: expect.any(Boolean) });
  await rm(folder, { recursive: true });
}
