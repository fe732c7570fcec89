import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import type { ReadResult } from '../../support/tracked-process.ts';
import { connect, text, type WireClient } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const read = (client: WireClient, processId: string, params: object = {}) =>
  client.call<ReadResult>('process/read', { processId, ...params });

describe('process/read', () => {
  it('tells everything about a closed process', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'echo text; exit 3'] });
    await process.closed();
    expect(await read(client, process.id)).toEqual({
      chunks: [{ seq: 1, stream: 'stdout', chunk: 'dGV4dAo=' }],
      nextSeq: 4,
      exited: true,
      exitCode: 3,
      closed: true,
      failure: null,
      sandboxDenied: false,
      truncated: false,
      oldestSeq: 1,
    });
  });

  it('waits for the next event and no longer', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    const parked = read(client, process.id, { waitMs: 600_000 });
    await client.call('process/write', { processId: process.id, chunk: 'aGkK' });
    const { chunks, nextSeq, exited } = await parked;
    expect({ chunks, nextSeq, exited }).toEqual({
      chunks: [{ seq: 1, stream: 'stdout', chunk: 'aGkK' }],
      nextSeq: 2,
      exited: false,
    });
    const untilEnd = read(client, process.id, { afterSeq: 1, waitMs: 600_000 });
    await client.call('process/closeStdin', { processId: process.id });
    expect(await untilEnd).toMatchObject({ chunks: [], exited: true, exitCode: 0 });
  });

  it('gives up at its deadline with an empty answer', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sleep', '900'] });
    expect(await read(client, process.id, { waitMs: 20 })).toMatchObject({
      chunks: [],
      nextSeq: 1,
      exited: false,
      closed: false,
    });
  });

  it('parked a hundred times delays no other request', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    const parked = Array.from({ length: 100 }, () => read(client, process.id, { waitMs: 600_000 }));
    const other = await client.start({ argv: ['echo', 'past the parked'] });
    await other.closed();
    expect(await client.call('environment/status')).toEqual({ status: 'ready' });
    expect(await client.call('process/terminate', { processId: process.id })).toEqual({ running: true });
    for (const answer of await Promise.all(parked)) expect(answer.exitCode).toBe(137);
  });

  it('in order of arrival waits its turn where the server works on one request at a time', async () => {
    await using strict = await startServer({ args: ['--concurrent-requests', '1'] });
    await using client = await connect(strict.url);
    const process = await client.start({ argv: ['sleep', '900'] });
    const order: string[] = [];
    await Promise.all([
      read(client, process.id, { waitMs: 100 }).then(() => order.push('read')),
      client.call('environment/status').then(() => order.push('status')),
    ]);
    expect(order).toEqual(['read', 'status']);
  });

  it('says what was dropped, and keeps the newest megabyte whole', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'seq 1 400000'] });
    await process.closed();
    const whole = process.output();
    const answer = await read(client, process.id);
    const kept = answer.chunks.map(({ chunk }) => text(chunk)).join('');
    expect(answer).toMatchObject({ truncated: true, oldestSeq: answer.chunks[0]!.seq });
    expect(whole.endsWith(kept)).toBe(true);
    expect(kept.length).toBeLessThanOrEqual(1_048_576);
    expect(kept.length).toBeGreaterThan(1_048_576 - 262_144);
    const later = await read(client, process.id, { afterSeq: answer.oldestSeq - 1 });
    expect([later.truncated, later.chunks.length]).toEqual([false, answer.chunks.length]);
  });

  it('keeps as much as the setting says', async () => {
    await using small = await startServer({ args: ['--retained-output-bytes-per-process', '1000'] });
    await using client = await connect(small.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    const written = Buffer.alloc(400).toString('base64');
    for (let total = 400; total <= 3200; total += 400) {
      await client.call('process/write', { processId: process.id, chunk: written });
      await process.until(() => process.bytes().length === total);
    }
    const { chunks } = await read(client, process.id);
    expect(chunks.map(({ seq, chunk }) => [seq, chunk])).toEqual([
      [7, written],
      [8, written],
    ]);
  });

  it('stops at maxBytes but always gives one chunk', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    for (const chunk of ['YWFh', 'YmJi', 'Y2Nj']) {
      const before = process.bytes().length;
      await client.call('process/write', { processId: process.id, chunk });
      await process.until(() => process.bytes().length === before + 3);
    }
    const texts = async (params: object) =>
      (await read(client, process.id, params)).chunks.map(({ chunk }) => text(chunk));
    expect(await texts({ maxBytes: 0 })).toEqual(['aaa']);
    expect(await texts({ maxBytes: 5 })).toEqual(['aaa']);
    expect(await texts({ maxBytes: 6 })).toEqual(['aaa', 'bbb']);
    expect(await texts({ afterSeq: 2 })).toEqual(['ccc']);
    expect(await texts({ afterSeq: 99 })).toEqual([]);
    expect((await read(client, process.id, { maxBytes: 6 })).nextSeq).toBe(3);
  });

  it('of an unknown process is an error', async () => {
    await using client = await connect(server.url);
    await expect(read(client, 'nobody')).rejects.toMatchObject({ code: -32600, message: 'unknown process id nobody' });
  });
});

describe('process/wait', () => {
  const wait = (client: WireClient, processId: string, params: object = {}) =>
    client.call('process/wait', { processId, ...params });

  it('resolves at the close, or at the exit when asked to', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'sleep 900 & exit 5'] });
    expect(await wait(client, process.id, { until: 'exited' })).toEqual({
      exited: true,
      exitCode: 5,
      closed: false,
      sandboxDenied: false,
      timedOut: false,
    });
    expect(await wait(client, process.id, { timeoutMs: 20 })).toEqual({
      exited: true,
      exitCode: 5,
      closed: false,
      sandboxDenied: false,
      timedOut: true,
    });
    const other = await client.start({ argv: ['sh', '-c', 'exit 6'] });
    expect(await wait(client, other.id)).toEqual({
      exited: true,
      exitCode: 6,
      closed: true,
      sandboxDenied: false,
      timedOut: false,
    });
    await expect(wait(client, 'nobody')).rejects.toMatchObject({ code: -32600 });
  });

  it('never delays other requests', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sleep', '900'] });
    const parked = wait(client, process.id);
    expect(await client.call('environment/status')).toEqual({ status: 'ready' });
    await client.call('process/terminate', { processId: process.id });
    expect(await parked).toMatchObject({ exitCode: 137, closed: true, timedOut: false });
  });
});

describe('process/snapshot', () => {
  const snapshot = (client: WireClient, processId: string) => client.call('process/snapshot', { processId });

  it('shows all output of each stream while it is small', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'echo out; echo err >&2; exit 2'] });
    await process.closed();
    expect(await snapshot(client, process.id)).toEqual({
      stdout: Buffer.from('out\n').toString('base64'),
      stderr: Buffer.from('err\n').toString('base64'),
      terminal: '',
      truncated: false,
      omittedBytes: { stdout: 0, stderr: 0, terminal: 0 },
      exitCode: 2,
      running: false,
    });
  });

  it.each([
    [false, 'stdout'],
    [true, 'terminal'],
  ])('shows the first and the last half of a long one and counts the rest exactly (tty %s)', async (tty, member) => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'stty -opost 2>/dev/null; seq 1 500000'], tty });
    await process.closed();
    const whole = process.output();
    const answer = await snapshot(client, process.id);
    const kept = text(answer[member]);
    expect(kept.slice(0, 524_288)).toBe(whole.slice(0, 524_288));
    expect(kept.slice(-524_288)).toBe(whole.slice(-524_288));
    expect(kept.length).toBe(1_048_576);
    expect(answer.omittedBytes).toEqual({ stdout: 0, stderr: 0, terminal: 0, [member]: whole.length - 1_048_576 });
    expect(answer.truncated).toBe(true);
  });

  it('shows a terminal that still runs', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'printf prompt; cat'], tty: true });
    await process.printed('prompt');
    expect(await snapshot(client, process.id)).toMatchObject({
      terminal: Buffer.from('prompt').toString('base64'),
      exitCode: null,
      running: true,
    });
  });
});

describe('process/list', () => {
  it('lists the processes of the session only, in every phase', async () => {
    await using stranger = await connect(server.url);
    await stranger.start({ argv: ['sleep', '900'] });
    await using client = await connect(server.url);
    const before = Date.now();
    await client.start({ processId: 'runs', argv: ['sleep', '900'], tty: true });
    const drains = await client.start({ processId: 'drains', argv: ['sh', '-c', 'sleep 900 & exit 1'] });
    const closed = await client.start({ processId: 'closed', argv: ['sh', '-c', 'echo x; exit 2'] });
    await Promise.all([drains.exited(), closed.closed()]);
    const { processes } = await client.call<{ processes: { startedAtMs: number }[] }>('process/list');
    const usual = { startedAtMs: expect.any(Number), pid: expect.any(Number), cwd: 'file:///', timedOut: false };
    expect(processes).toEqual([
      {
        processId: 'runs',
        argv: ['sleep', '900'],
        tty: true,
        phase: 'running',
        exitCode: null,
        ...usual,
        nextSeq: 1,
      },
      {
        processId: 'drains',
        argv: ['sh', '-c', 'sleep 900 & exit 1'],
        tty: false,
        phase: 'draining',
        exitCode: 1,
        ...usual,
        nextSeq: 2,
      },
      {
        processId: 'closed',
        argv: ['sh', '-c', 'echo x; exit 2'],
        tty: false,
        phase: 'closed',
        exitCode: 2,
        ...usual,
        nextSeq: 4,
      },
    ]);
    for (const process of processes) expect(process.startedAtMs).toBeGreaterThanOrEqual(before);
  });

  it('is possible after the end of a process that has retained more than 64 MiB', async () => {
    await using roomy = await startServer({ args: ['--retained-output-bytes-per-process', '100000000'] });
    await using client = await connect(roomy.url);
    const process = await client.start({ processId: 'large', argv: ['head', '-c', '70000000', '/dev/zero'] });
    await process.closed();

    const read = await client.call('process/read', { processId: 'large', maxBytes: 1 });
    expect(read).toMatchObject({ chunks: [{ seq: 1 }], exited: true, closed: true, truncated: false });
  });
});
