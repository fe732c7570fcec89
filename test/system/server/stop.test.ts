import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ExecServerClient } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/websocket/connect-websocket.ts';
import { StdioServer } from '../../support/command.ts';
import { serverProgram, startServer } from '../../support/server.ts';
import { connect, connectBare } from '../../support/wire-client.ts';

const endsOnTerm = [
  'sh',
  '-c',
  'exec 2>/dev/null; trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.01; done',
];
const ignoresTerm = ['sh', '-c', 'exec 2>/dev/null; trap "echo no" TERM; echo ready; while :; do sleep 0.01; done'];

describe('a server that is stopped', () => {
  it('delivers the last output and the exit codes of its processes, then closes the connection with a reason', async () => {
    await using server = await startServer({ args: ['--shutdown-grace-period-ms', '300'] });
    await using client = await connect(server.url);
    const closeReason = new Promise<string>((resolve) =>
      client.socket.once('close', (_, reason) => resolve(`${reason}`)),
    );
    const [one, other] = [await client.start({ argv: endsOnTerm }), await client.start({ argv: ignoresTerm })];
    await Promise.all([one.printed('ready\n'), other.printed('ready\n')]);

    server.process.kill('SIGTERM');

    expect(await client.closed).toBe(1001);
    expect(await closeReason).toBe('exec-server is stopping');
    expect([one.output(), await one.exited()]).toEqual(['ready\nbye\n', 3]);
    expect([other.output(), await other.exited()]).toEqual(['ready\nno\n', 137]);
    expect(await server.ended()).toBe(0);
  });

  it('starts nothing any more', async () => {
    await using server = await startServer({ args: ['--shutdown-grace-period-ms', '1000'] });
    await using client = await connect(server.url);
    const process = await client.start({ argv: ignoresTerm });
    await process.printed('ready\n');
    server.process.kill('SIGTERM');
    await process.printed('no\n');

    await expect(client.start({ argv: ['true'] })).rejects.toMatchObject({
      code: -32600,
      message: 'exec-server is stopping',
    });
  });

  it('begins no session any more', async () => {
    await using server = await startServer({ args: ['--shutdown-grace-period-ms', '4000'] });
    await using client = await connect(server.url);
    await using late = await connectBare(server.url);
    const process = await client.start({ argv: ignoresTerm });
    await process.printed('ready\n');
    server.process.kill('SIGTERM');
    await process.printed('no\n');

    await expect(late.initialize()).rejects.toMatchObject({ code: -32600, message: 'exec-server is stopping' });
  });

  it('is not reconnected to by a client, which reports the reason', async () => {
    await using server = await startServer();
    await using client = await ExecServerClient.connect(webSocket(server.url));
    const process = await client.start({ argv: endsOnTerm, env: { PATH: '/usr/bin:/bin' } });
    for await (const { bytes } of process.output) if (`${Buffer.from(bytes)}`.includes('ready')) break;

    server.process.kill('SIGTERM');

    expect(await process.wait()).toMatchObject({ exitCode: 3, closed: true });
    expect((await client.closed).message).toBe('the server closed the connection: exec-server is stopping');
  });

  it('delivers the same on standard output', async () => {
    const server = new StdioServer();
    await server.initialize();
    const process = await server.start({ argv: endsOnTerm });
    await process.printed('ready\n');

    globalThis.process.kill(server.pid, 'SIGTERM');

    expect([await process.exited(), process.output()]).toEqual([3, 'ready\nbye\n']);
    expect(await server.closed).toBe(0);
  });
});

describe('SIGHUP', () => {
  it('has a server without a terminal read its token file and its settings again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'server-stop-'));
    const [token, settings] = [join(folder, 'token'), join(folder, 'settings.toml')];
    await writeFile(token, 'first');
    await writeFile(settings, 'max_processes_per_connection = 1');
    const args = ['--ws-auth', 'capability-token', '--ws-token-file', token, '--config', settings];
    await using server = await startServer({ args, env: { EXEC_SERVER_LOG: 'info' }, detached: true });
    const present = (bearer: string) => connect(server.url, { headers: { authorization: `Bearer ${bearer}` } });
    await using client = await present('first');
    await client.start({ argv: ['sleep', '900'] });
    await expect(client.start({ argv: ['sleep', '900'] })).rejects.toThrow('at most 1 processes');

    await writeFile(token, 'second');
    await writeFile(settings, 'max_processes_per_connection = 2');
    server.process.kill('SIGHUP');
    await server.logged('settings.reloaded');

    await expect(present('first')).rejects.toThrow('401');
    await using _second = await present('second');
    await client.start({ argv: ['sleep', '900'] }); // connections that are open stay open
    await expect(client.start({ argv: ['sleep', '900'] })).rejects.toThrow('at most 2 processes');

    await writeFile(settings, 'max_processes_per_connection = many');
    await writeFile(token, 'third');
    server.process.kill('SIGHUP');
    await server.logged('settings.not_reloaded');
    await expect(present('third')).rejects.toThrow('401');
    await using _again = await present('second');
    await rm(folder, { recursive: true });
  });

  it('changes the time that a stop may take', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'server-stop-'));
    const settings = join(folder, 'settings.toml');
    await writeFile(settings, 'shutdown_grace_period_ms = 500');
    const args = ['--config', settings];
    await using server = await startServer({ args, env: { EXEC_SERVER_LOG: 'info' }, detached: true });
    await using client = await connect(server.url);
    const script = 'exec 2>/dev/null; trap "sleep 1; exit 3" TERM; echo ready; while :; do sleep 0.01; done';
    const slow = await client.start({ argv: ['sh', '-c', script] });
    await slow.printed('ready\n');

    await writeFile(settings, 'shutdown_grace_period_ms = 30000');
    server.process.kill('SIGHUP');
    await server.logged('settings.reloaded');
    server.process.kill('SIGTERM');

    expect(await client.closed).toBe(1001);
    expect(await slow.exited()).toBe(3);
    await rm(folder, { recursive: true });
  });

  it('stops a server that has a terminal, in order', async () => {
    await using outer = await startServer();
    await using client = await connect(outer.url);
    const command = `echo $$; exec ${process.execPath} ${serverProgram} --listen ws://127.0.0.1:0`;
    const inner = await client.start({ argv: ['sh', '-c', command], tty: true });
    await inner.printed('ws://');
    const [, pid, url] = /^(\d+)\s+(ws:\S+)/.exec(await inner.printed('\n'))!;
    await using connected = await connectBare(url!);

    process.kill(Number(pid), 'SIGHUP');

    expect([await connected.closed, await inner.exited()]).toEqual([1001, 0]);
  });

  it('ends a rendezvous that has a terminal', async () => {
    await using outer = await startServer();
    await using client = await connect(outer.url);
    const command = `echo $$; exec ${process.execPath} ${serverProgram} rendezvous --listen http://127.0.0.1:0`;
    const inner = await client.start({ argv: ['sh', '-c', command], tty: true });
    const [pid] = (await inner.printed('http://')).split('\r');

    process.kill(Number(pid), 'SIGHUP');

    expect(await inner.exited()).toBeGreaterThan(0);
  });
});
