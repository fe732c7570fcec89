import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appeared, gone, uniqueSeconds } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, connectBare, resume, type WireClient } from '../../support/wire-client.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';
import { reaches } from './reach.ts';

let server: TestServer;
let client: WireClient;
beforeAll(async () => {
  server = await startServer();
  client = await connect(server.url);
});
afterAll(async () => {
  client.cut();
  await server.stop();
});

/** The members of `process/exited` besides the process and its number. */
function exitOf({ notices }: Awaited<ReturnType<WireClient['start']>>): Record<string, unknown> {
  const { processId, seq, ...exit } = notices.find(({ method }) => method === 'process/exited')!.params;
  return exit;
}

describe('timeoutMs', () => {
  it('ends the whole family, daemons included', async () => {
    const seconds = uniqueSeconds();
    const script = `(setsid sleep ${seconds} &); trap '' TERM; sleep ${seconds}; sleep ${seconds}`;
    const process = await client.start({ argv: ['sh', '-c', script], timeoutMs: 1000 });
    const family = await appeared(seconds, 2);

    await process.closed();

    expect(exitOf(process)).toEqual({ exitCode: 137, sandboxDenied: false, signal: 'SIGKILL', timedOut: true });
    await gone(family);
  });

  it('is told by process/read, process/wait and process/list as well', async () => {
    const process = await client.start({ argv: ['sleep', '900'], timeoutMs: 50 });

    const waited = await client.call('process/wait', { processId: process.id });

    expect(waited).toMatchObject({ exitCode: 137, signal: 'SIGKILL', timedOut: true, closed: true });
    expect(await client.call('process/read', { processId: process.id })).toMatchObject({
      exitCode: 137,
      signal: 'SIGKILL',
      timedOut: true,
    });
    const { processes } = await client.call<{ processes: { processId: string }[] }>('process/list');
    expect(processes.find(({ processId }) => processId === process.id)).toMatchObject({
      signal: 'SIGKILL',
      timedOut: true,
    });
  });

  it('leaves graceMs for an end of its own', async () => {
    const script = 'trap "echo caught; exit 7" TERM; echo ready; while :; do sleep 0.01; done';
    const process = await client.start({ argv: ['sh', '-c', script], timeoutMs: 400, graceMs: 60_000 });

    await process.closed();

    expect(process.output('stdout')).toBe('ready\ncaught\n');
    expect(exitOf(process)).toEqual({ exitCode: 7, sandboxDenied: false, timedOut: true });
  });

  it('kills what does not end in the time of grace', async () => {
    const script = 'trap "echo caught" TERM; echo ready; while :; do sleep 0.01; done';
    const process = await client.start({ argv: ['sh', '-c', script], timeoutMs: 400, graceMs: 200 });

    await process.closed();

    expect(process.output('stdout')).toBe('ready\ncaught\n');
    expect(exitOf(process)).toMatchObject({ signal: 'SIGKILL', timedOut: true });
  });

  it('counts while no client is there, which learns of it when it resumes', async () => {
    const seconds = uniqueSeconds();
    await using first = await connectBare(server.url);
    const sessionId = await first.initialize();
    const { id } = await first.start({ argv: ['sleep', seconds], timeoutMs: 1000 });
    const [pid] = await appeared(seconds);
    first.cut();
    await gone(pid!);

    await using second = await resume(server.url, sessionId);

    expect(await second.call('process/wait', { processId: id })).toMatchObject({ signal: 'SIGKILL', timedOut: true });
  });

  it('that is not used up is told as well', async () => {
    const process = await client.start({ argv: ['true'], timeoutMs: 60_000 });

    await process.closed();

    expect(exitOf(process)).toEqual({ exitCode: 0, sandboxDenied: false, timedOut: false });
  });

  it('ends with the process itself: what it has left running goes on', async () => {
    const process = await client.start({ argv: ['sh', '-c', 'sleep 0.5; echo late & exit 3'], timeoutMs: 60_000 });
    await process.closed();
    expect([process.output(), exitOf(process)]).toEqual([
      'late\n',
      { exitCode: 3, sandboxDenied: false, timedOut: false },
    ]);
  });

  it.each([
    [{ timeoutMs: 0 }, /timeoutMs must be a whole number from 1 to 2147483647/],
    [{ timeoutMs: 1.5 }, /timeoutMs must be a whole number/],
    [{ timeoutMs: 2 ** 31 }, /timeoutMs must be a whole number/],
    [{ timeoutMs: 10, graceMs: -1 }, /graceMs must be a whole number from 0 to 2147483647/],
    [{ graceMs: 10 }, /graceMs is counted from the end of timeoutMs: give both/],
  ])('is refused as %j', async (members, reason) => {
    await expect(client.start({ argv: ['true'], ...members })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(reason),
    });
  });
});

describe.each(accounts)('timeoutMs of a sandboxed command, for a server run by $name', (account) => {
  it('ends everything in the sandbox', async () => {
    await using fixture = await SandboxFixture.open(account);
    const seconds = uniqueSeconds();
    const script = `(setsid sleep ${seconds} &); sleep ${seconds}`;
    const process = await fixture.start(script, { start: { timeoutMs: 3000 } });
    const family = await appeared(seconds, 2);

    await process.closed();

    expect(exitOf(process)).toMatchObject({ timedOut: true });
    await gone(family);
  });
});

describe('the signal that ended a process', () => {
  const script = 'kill -USR1 $$';

  it('is told by answers, and with process/exited to clients that ask for it', async () => {
    const asking = await connect(server.url, { initializeParams: { capabilities: { processTimeout: true } } });
    const [told, untold] = [
      await asking.start({ argv: ['sh', '-c', script] }),
      await client.start({ argv: ['sh', '-c', script] }),
    ];
    await Promise.all([told.closed(), untold.closed()]);
    expect([exitOf(told), exitOf(untold)]).toEqual([
      { exitCode: 138, sandboxDenied: false, signal: 'SIGUSR1' },
      { exitCode: 138, sandboxDenied: false },
    ]);
    expect(await client.call('process/read', { processId: untold.id })).toMatchObject({ signal: 'SIGUSR1' });
    asking.cut();
  });

  it('is told of terminals, where the exit code does not', async () => {
    const process = await client.start({ argv: ['sh', '-c', 'kill -TERM $$'], tty: true, timeoutMs: 60_000 });
    await process.closed();
    expect(exitOf(process)).toEqual({ exitCode: 1, sandboxDenied: false, signal: 'SIGTERM', timedOut: false });
  });

  it('is missing where a process exited by itself', async () => {
    const process = await client.start({ argv: ['sh', '-c', 'exit 138'] });
    await process.closed();
    expect(await client.call('process/read', { processId: process.id })).not.toHaveProperty('signal');
  });
});

describe('the number of a process', () => {
  it('is in the answer to its start and in process/list, with its directory', async () => {
    const { tracked, started } = client.begin({
      argv: ['sh', '-c', 'echo $$; cd /; exec sleep 900'],
      cwd: 'file:///tmp',
    });
    const { pid } = await started;
    await tracked.printed('\n');
    expect(Number(tracked.output())).toBe(pid);
    const { processes } = await client.call<{ processes: { processId: string }[] }>('process/list');
    expect(processes.find(({ processId }) => processId === tracked.id)).toMatchObject({
      pid,
      cwd: 'file:///tmp',
      timedOut: false,
    });
    await client.call('process/terminate', { processId: tracked.id });
  });
});

describe.each(reaches)('a client of the library that reaches a server $way', ({ reach }) => {
  it('is told how its process ended', async () => {
    const far = await reach();
    const process = await far.start({ argv: ['sleep', '900'], timeoutMs: 100, graceMs: 5000 });
    expect(process.pid).toBeGreaterThan(1);
    expect(await process.wait()).toEqual({
      exited: true,
      exitCode: 143,
      closed: true,
      sandboxDenied: false,
      signal: 'SIGTERM',
      timedOut: true,
    });
    const killed = await far.start({ argv: ['sh', '-c', 'kill -9 $$'] });
    expect(await killed.communicate()).toMatchObject({ exitCode: 137, signal: 'SIGKILL' });
    expect(await killed.wait()).toMatchObject({ timedOut: false });
  });
});
