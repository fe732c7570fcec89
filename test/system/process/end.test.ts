import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stateOf } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const signals = [
  ['interrupt', 'INT', 2],
  ['terminate', 'TERM', 15],
  ['hangup', 'HUP', 1],
  ['quit', 'QUIT', 3],
  ['user1', 'USR1', 10],
  ['user2', 'USR2', 12],
] as const;

describe('signals', () => {
  it.each(signals)('%s reaches the process group as SIG%s', async (signal, name) => {
    await using client = await connect(server.url);
    const trap = `trap "echo got ${name}; exit 9" ${name}; echo ready; while :; do sleep 0.01; done`;
    const process = await client.start({ argv: ['bash', '-c', `(${trap}) & ${trap}`] });
    await process.until(() => process.output('stdout') === 'ready\nready\n');
    expect(await client.call('process/signal', { processId: process.id, signal })).toEqual({});
    expect(await process.exited()).toBe(9);
    await process.closed();
    expect(process.output('stdout')).toBe(`ready\nready\ngot ${name}\ngot ${name}\n`);
  });

  it.each([...signals, ['kill', 'KILL', 9] as const])(
    '%s ends a process that does not handle it with 128 plus its number',
    async (signal, _name, number) => {
      await using client = await connect(server.url);
      const process = await client.start({ argv: ['sleep', '900'] });
      await client.call('process/signal', { processId: process.id, signal });
      expect(await process.transcript()).toEqual([{ event: 'exited', exitCode: 128 + number }, { event: 'closed' }]);
    },
  );

  it('reports death by a signal as 1 behind a terminal', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sleep', '900'], tty: true });
    await client.call('process/signal', { processId: process.id, signal: 'kill' });
    expect(await process.exited()).toBe(1);
  });

  it('stop and continue hold a process and let it go on', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'echo $$; exec cat'], pipeStdin: true });
    const pid = Number(await process.printed('\n'));
    const send = (signal: string) => client.call('process/signal', { processId: process.id, signal });
    await send('stop');
    await expect.poll(() => stateOf(pid)).toBe('T');
    await client.call('process/write', { processId: process.id, chunk: 'aGVsZAo=' });
    await send('continue');
    expect(await process.printed('held')).toBe(`${pid}\nheld\n`);
  });

  it('are without effect on processes that are gone or unknown, and refused when misspelt', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['true'] });
    await process.closed();
    expect(await client.call('process/signal', { processId: process.id, signal: 'kill' })).toEqual({});
    expect(await client.call('process/signal', { processId: 'nobody', signal: 'interrupt' })).toEqual({});
    await expect(client.call('process/signal', { processId: process.id, signal: 'SIGKILL' })).rejects.toMatchObject({
      code: -32602,
    });
  });
});

describe('terminating', () => {
  it.each([[{}], [{ mode: { type: 'force' } }], [{ mode: null }]])('with %j kills at once', async (mode) => {
    await using client = await connect(server.url);
    const process = await client.start({
      argv: ['sh', '-c', 'trap "" TERM INT HUP; echo ready; sleep 900; sleep 900'],
    });
    await process.printed('ready');
    const terminate = () => client.call('process/terminate', { processId: process.id, ...mode });
    expect(await terminate()).toEqual({ running: true });
    await process.closed();
    expect(process.notices.slice(-2).map(({ params }) => params.exitCode)).toEqual([137, undefined]);
    expect(await terminate()).toEqual({ running: false });
  });

  it('says that an unknown process is not running', async () => {
    await using client = await connect(server.url);
    expect(await client.call('process/terminate', { processId: 'nobody' })).toEqual({ running: false });
  });

  it('gracefully lets a process print before it ends', async () => {
    await using client = await connect(server.url);
    const process = await client.start({
      argv: ['sh', '-c', 'trap "echo bye; exit 4" TERM; echo ready; while :; do sleep 0.01; done'],
    });
    await process.printed('ready');
    const mode = { type: 'graceful', timeoutMs: 600_000 };
    expect(await client.call('process/terminate', { processId: process.id, mode })).toEqual({ running: true });
    expect(await process.exited()).toBe(4);
    await process.closed();
    expect(process.output('stdout')).toBe('ready\nbye\n');
  });

  it('gracefully kills a process that does not listen when its time is up', async () => {
    await using client = await connect(server.url);
    const process = await client.start({
      argv: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.01; done'],
    });
    await process.printed('ready');
    const mode = { type: 'graceful', timeoutMs: 50 };
    expect(await client.call('process/terminate', { processId: process.id, mode })).toEqual({ running: true });
    expect(await process.exited()).toBe(137);
  });

  it('kills at once when a graceful end is still going on', async () => {
    await using client = await connect(server.url);
    const process = await client.start({
      argv: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.01; done'],
    });
    await process.printed('ready');
    const mode = { type: 'graceful', timeoutMs: 600_000 };
    await client.call('process/terminate', { processId: process.id, mode });
    await client.call('process/terminate', { processId: process.id });
    expect(await process.exited()).toBe(137);
  });

  it('answers 300 terminations at once', async () => {
    await using client = await connect(server.url);
    const starts = Array.from({ length: 300 }, () => client.start({ argv: ['sleep', '900'] }));
    const processes = await Promise.all(starts);
    const answers = await Promise.all(processes.map(({ id }) => client.call('process/terminate', { processId: id })));
    expect(answers).toEqual(processes.map(() => ({ running: true })));
    const codes = await Promise.all(processes.map((process) => process.closed().then(() => process.exited())));
    expect(codes).toEqual(processes.map(() => 137));
  });
});
