import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processesWith, uniqueSeconds } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';
import { reaches } from './reach.ts';

/** Why this machine has no control groups for the server, in the words of the refusal; undefined if it has. */
const noGroups = await reasonAgainstGroups();

async function reasonAgainstGroups(): Promise<string | undefined> {
  await using probe = await startServer();
  await using asking = await connect(probe.url);
  const started = asking.start({ argv: ['true'], limits: { cpus: 1 } });
  return started.then(
    () => undefined,
    (error: Error) => error.message,
  );
}

let server: TestServer;
let client: WireClient;
let folder: string;
beforeAll(async () => {
  server = await startServer();
  client = await connect(server.url);
  folder = mkdtempSync(join(tmpdir(), 'limits-'));
});
afterAll(async () => {
  client.cut();
  await server.stop();
  rmSync(folder, { recursive: true });
});

type Started = Awaited<ReturnType<WireClient['start']>>;

function exitOf({ notices }: Started): Record<string, unknown> {
  return notices.find(({ method }) => method === 'process/exited')!.params;
}

/** Holds so much memory in one process, and goes on. */
const hold = (bytes: number): string => `head -c ${bytes} /dev/zero | tail | sleep 900`;
const MIB = 1024 * 1024;

describe('memoryBytes', () => {
  it('ends the family that uses more, also where it is spread over several processes', async () => {
    const seconds = uniqueSeconds();
    const script = `sleep ${seconds} & (${hold(60 * MIB)}) & (${hold(60 * MIB)}) & wait`;
    const { tracked, started } = client.begin({ argv: ['sh', '-c', script], limits: { memoryBytes: 100 * MIB } });
    const { limitsEnforcedBy } = await started;

    await tracked.closed();

    expect(limitsEnforcedBy).toEqual({ memoryBytes: noGroups ? 'watch' : 'cgroup' });
    expect(exitOf(tracked)).toMatchObject({ signal: 'SIGKILL', limitExceeded: 'memory' });
    expect(await client.call('process/read', { processId: tracked.id })).toMatchObject({ limitExceeded: 'memory' });
    expect(await client.call('process/wait', { processId: tracked.id })).toMatchObject({ limitExceeded: 'memory' });
    expect(processesWith(seconds)).toEqual([]);
  });

  it('counts pages that processes share once', async () => {
    // Each of the twenty shells maps about 2 MiB that it shares with the others.
    const script = 'i=0; while [ $i -lt 20 ]; do sh -c "sleep 1; :" & i=$((i+1)); done; wait';
    const process = await client.start({ argv: ['sh', '-c', script], limits: { memoryBytes: 24 * MIB } });
    await process.closed();
    expect(exitOf(process)).toMatchObject({ exitCode: 0 });
    expect(exitOf(process)).not.toHaveProperty('limitExceeded');
  });
});

describe('pids', () => {
  it('counts processes and threads of the whole family', async () => {
    const seconds = uniqueSeconds();
    const script = `i=0; while [ $i -lt 8 ]; do (setsid sleep ${seconds} &) ; i=$((i+1)); done; sleep ${seconds}`;
    const { tracked, started } = client.begin({ argv: ['sh', '-c', script], limits: { pids: 6 } });
    expect(await started).toMatchObject({ limitsEnforcedBy: { pids: noGroups ? 'watch' : 'cgroup' } });

    await client.call('process/wait', { processId: tracked.id, until: 'exited', timeoutMs: 5000 });

    await client.call('process/terminate', { processId: tracked.id });
    await tracked.closed();
    expect(exitOf(tracked)).toMatchObject({ limitExceeded: 'pids' });
  });
});

describe('fileBytes', () => {
  it('ends the process that writes a larger file', async () => {
    const file = join(folder, 'large');
    const { tracked, started } = client.begin({
      argv: ['sh', '-c', `exec head -c 5000000 /dev/zero > ${file}`],
      limits: { fileBytes: 100_000 },
    });
    expect(await started).toMatchObject({ limitsEnforcedBy: { fileBytes: 'rlimit' } });
    await tracked.closed();
    expect(exitOf(tracked)).toMatchObject({ signal: 'SIGXFSZ', limitExceeded: 'fileBytes' });
    expect(statSync(file).size).toBe(100_000);
  });

  it('holds for descendants, whose end is not known to be its doing, and not for pipes', async () => {
    const file = join(folder, 'of-a-child');
    const script = `head -c 5000000 /dev/zero > ${file}; echo $?; head -c 200000 /dev/zero | wc -c`;
    const process = await client.start({ argv: ['sh', '-c', script], limits: { fileBytes: 100_000 } });
    await process.closed();
    expect(process.output('stdout')).toBe('153\n200000\n');
    expect(statSync(file).size).toBe(100_000);
    expect(exitOf(process)).not.toHaveProperty('limitExceeded');
  });
});

describe('limits', () => {
  it('say nothing of a process that keeps them', async () => {
    const limits = { memoryBytes: 500 * MIB, pids: 100, fileBytes: 1000 };
    const process = await client.start({ argv: ['true'], limits });
    await process.closed();
    expect(exitOf(process)).toEqual({ processId: process.id, seq: 1, exitCode: 0, sandboxDenied: false });
  });

  it.skipIf(!noGroups)('are refused by name where one cannot be enforced in its own meaning', async () => {
    const file = join(folder, 'started');
    const limits = { fileBytes: 10, cpus: 0.5 };
    await expect(client.start({ argv: ['touch', file], limits })).rejects.toMatchObject({
      code: -32600,
      message: expect.stringMatching(/^the limit cpus cannot be enforced here: /),
    });
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    [{ disk: 1 }, /unknown field `disk`/],
    [{ pids: 0 }, /pids must be a whole number from 1/],
    [{ memoryBytes: 1.5 }, /memoryBytes must be a whole number from 1/],
    [{ cpus: 0 }, /cpus must be at least 0.01/],
    [{ fileBytes: -1 }, /fileBytes must be a whole number from 0/],
  ])('are refused as %j', async (limits, message) => {
    await expect(client.start({ argv: ['true'], limits })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(message),
    });
  });
});

describe.each(accounts)('limits of a sandboxed command, for a server run by $name', (account) => {
  it('hold, without counting what makes the sandbox', async () => {
    await using fixture = await SandboxFixture.open(account);
    const limited = (script: string, limits: object) => fixture.start(script, { start: { limits } });

    const within = await limited('sleep 1 & sleep 1 & wait', { pids: 3 });
    const crowd = await limited('for i in 1 2 3 4; do sleep 900 & done; wait', { pids: 3 });
    const memory = await limited(hold(100 * MIB), { memoryBytes: 60 * MIB });
    const file = await limited('exec head -c 5000000 /dev/zero > "$W/large"', { fileBytes: 100_000 });
    await Promise.all([within, crowd, memory, file].map((process) => process.closed()));

    expect(exitOf(within)).toMatchObject({ exitCode: 0 });
    expect(exitOf(within)).not.toHaveProperty('limitExceeded');
    expect(exitOf(crowd)).toMatchObject({ limitExceeded: 'pids' });
    expect(exitOf(memory)).toMatchObject({ limitExceeded: 'memory' });
    expect(exitOf(file)).toMatchObject({ exitCode: 153, limitExceeded: 'fileBytes' });
    expect(statSync(join(fixture.workspace, 'large')).size).toBe(100_000);
  });
});

describe.each(reaches)('a client of the library that reaches a server $way', ({ reach }) => {
  it('is told who enforces a limit, and that it was exceeded', async () => {
    const far = await reach();
    const start = { env: { PATH: '/usr/bin:/bin' }, limits: { pids: 2 } };
    const process = await far.start({ argv: ['sh', '-c', 'sleep 900 & sleep 900 & wait'], ...start });
    expect(process.limitsEnforcedBy).toEqual({ pids: noGroups ? 'watch' : 'cgroup' });
    expect(await process.wait()).toMatchObject({ exitCode: 137, signal: 'SIGKILL', limitExceeded: 'pids' });
  });
});

describe.skipIf(noGroups)(`control groups${noGroups ? ` (skipped: ${noGroups})` : ''}`, () => {
  it('give a process the processors that it may use, and are removed with it', async () => {
    const script = 'cat /proc/self/cgroup; n=0; while [ $n -lt 300000 ]; do n=$((n+1)); done';
    const { tracked, started } = client.begin({ argv: ['sh', '-c', script], limits: { cpus: 0.1, pids: 20 } });
    expect(await started).toMatchObject({ limitsEnforcedBy: { cpus: 'cgroup', pids: 'cgroup' } });
    await tracked.closed();
    const [, path] = /^0::(.*)$/m.exec(tracked.output('stdout'))!;
    expect(path).toMatch(/\/exec-server-\d+-\d+$/);
    expect(existsSync(join('/sys/fs/cgroup', path!))).toBe(false);
  });
});
