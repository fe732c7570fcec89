import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import type { TrackedProcess } from '../../support/tracked-process.ts';
import { connect } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const upTo = (n: number): number[] => Array.from({ length: n }, (_, at) => at + 1);
const inOrder = (process: TrackedProcess): void => expect(process.sequence).toEqual(upTo(process.notices.length));

describe('the life of a process', () => {
  it('is output, exit and close, numbered from one', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'echo out; exit 3'] });
    expect(await process.transcript()).toEqual([
      { event: 'output', stream: 'stdout', text: 'out\n' },
      { event: 'exited', exitCode: 3 },
      { event: 'closed' },
    ]);
    expect(process.sequence).toEqual([1, 2, 3]);
  });

  it('announces the exit while a background child still holds the pipe, and closes after its last byte', async () => {
    await using client = await connect(server.url);
    const process = await client.start({
      argv: ['sh', '-c', 'mkfifo "$0"; (read _ < "$0"; rm "$0"; echo late) & echo ready; exit 3', fifo()],
    });
    await process.exited();
    expect(process.notices.at(-1)?.method).toBe('process/exited');
    const release = await client.start({ argv: ['sh', '-c', 'echo > "$0"', fifo()] });
    await release.closed();
    expect(await process.transcript()).toEqual([
      { event: 'output', stream: 'stdout', text: 'ready\n' },
      { event: 'exited', exitCode: 3 },
      { event: 'output', stream: 'stdout', text: 'late\n' },
      { event: 'closed' },
    ]);
    inOrder(process);
  });

  it('goes on after it has closed its output', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'exec >&- 2>&-; read line; exit 7'], pipeStdin: true });
    await client.call('process/write', { processId: process.id, writeId: '1', chunk: 'Cg==' });
    expect(await process.transcript()).toEqual([{ event: 'exited', exitCode: 7 }, { event: 'closed' }]);
  });

  it('keeps stdout and stderr apart', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'echo to out; echo to err >&2'] });
    await process.closed();
    expect([process.output('stdout'), process.output('stderr')]).toEqual(['to out\n', 'to err\n']);
  });

  it.each([false, true])('sends events strictly by number, whatever is printed last (tty %s)', async (tty) => {
    await using client = await connect(server.url);
    const script = 'i=0; while [ $i -lt 60 ]; do head -c 5000 /dev/zero; echo >&2 x; i=$((i+1)); done; exit 5';
    const starts = upTo(20).map(() => client.start({ argv: ['sh', '-c', script], tty }));
    for (const process of await Promise.all(starts)) {
      await process.closed();
      inOrder(process);
      const methods = process.notices.map(({ method }) => method);
      expect(methods.at(-1)).toBe('process/closed');
      expect(methods.filter((method) => method === 'process/exited').length).toBe(1);
      expect(process.bytes().length).toBe(tty ? 60 * 5003 : 60 * 5002);
    }
  });

  it('numbers the events of many processes independently', async () => {
    await using client = await connect(server.url);
    const processes = await Promise.all(upTo(50).map((n) => client.start({ argv: ['echo', `number ${n}`] })));
    const transcripts = await Promise.all(processes.map((process) => process.transcript()));
    expect(transcripts).toEqual(
      upTo(50).map((n) => [
        { event: 'output', stream: 'stdout', text: `number ${n}\n` },
        { event: 'exited', exitCode: 0 },
        { event: 'closed' },
      ]),
    );
    for (const process of processes) inOrder(process);
  });

  it('carries bytes that are no text unchanged', async () => {
    await using client = await connect(server.url);
    const all = Array.from({ length: 256 }, (_, byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('');
    const process = await client.start({ argv: ['/bin/sh', '-c', 'printf "%b" "$0"', all] });
    await process.closed();
    expect([...process.bytes()]).toEqual(Array.from({ length: 256 }, (_, byte) => byte));
  });

  it('gives an id back after a failed start, and sends no events for it', async () => {
    await using client = await connect(server.url);
    const attempt = client.start({ processId: 'again', argv: ['/no/such/program'] });
    await expect(attempt).rejects.toMatchObject({ code: -32603, message: 'No such file or directory (os error 2)' });
    const process = await client.start({ processId: 'again', argv: ['true'] });
    expect(await process.transcript()).toEqual([{ event: 'exited', exitCode: 0 }, { event: 'closed' }]);
    expect(client.stray).toEqual([]);
  });

  it('refuses an id that is in use, also after the process has closed', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ processId: 'taken', argv: ['true'] });
    await process.closed();
    await expect(client.call('process/start', start('taken'))).rejects.toMatchObject({
      code: -32600,
      message: 'process taken already exists',
    });
  });

  it('keeps the ids of two sessions apart', async () => {
    await using one = await connect(server.url);
    await using other = await connect(server.url);
    const mine = await one.start({ processId: 'same', argv: ['echo', 'one'] });
    const theirs = await other.start({ processId: 'same', argv: ['echo', 'other'] });
    await Promise.all([mine.closed(), theirs.closed()]);
    expect([mine.output(), theirs.output()]).toEqual(['one\n', 'other\n']);
  });

  it('refuses more running processes than the setting allows, and takes new ones when some have closed', async () => {
    await using small = await startServer({ args: ['--max-processes-per-connection', '2'] });
    await using client = await connect(small.url);
    const cats = [
      await client.start({ argv: ['cat'], pipeStdin: true }),
      await client.start({ argv: ['sleep', '900'] }),
    ];
    await expect(client.start({ argv: ['true'] })).rejects.toMatchObject({
      code: -32600,
      message: 'at most 2 processes may run per connection',
    });
    await client.call('process/terminate', { processId: cats[1]!.id });
    await cats[1]!.closed();
    await (await client.start({ argv: ['true'] })).closed();
  });
});

const fifo = (): string => `/tmp/exec-server-lifecycle-${process.pid}`;

function start(processId: string): object {
  return { processId, argv: ['true'], cwd: 'file:///', env: { PATH: '/bin' }, tty: false };
}
