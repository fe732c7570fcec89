import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atRest } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import type { ReadResult } from '../../support/tracked-process.ts';
import { connect, connectBare, resume, text, type WireClient } from '../../support/wire-client.ts';
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

const MIB = 1024 * 1024;
/** So many bytes that no two pieces of a length are the same. */
const numbers = (bytes: number): string[] => ['sh', '-c', `seq 1 100000000 | head -c ${bytes}`];

function read(from: WireClient, processId: string, afterSeq: number, more: object = {}): Promise<ReadResult> {
  return from.call<ReadResult>('process/read', { processId, afterSeq, ...more });
}

/** Reads a process from a number to its end, by pieces. */
async function readAll(from: WireClient, processId: string, afterSeq = 0): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (;;) {
    const { chunks, closed } = await read(from, processId, afterSeq, { maxBytes: 100_000, waitMs: 20_000 });
    if (chunks.length === 0 && closed) return Buffer.concat(pieces);
    for (const { seq, chunk } of chunks) {
      pieces.push(Buffer.from(chunk, 'base64'));
      afterSeq = seq;
    }
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('a process whose output is pulled', () => {
  it('sends none of it, and is told to have exited', async () => {
    const process = await client.start({ argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'], delivery: 'pull' });

    await process.closed();

    expect(process.notices.map(({ method }) => method)).toEqual(['process/exited', 'process/closed']);
    const { chunks, exitCode, closed } = await read(client, process.id, 0);
    expect(chunks.map(({ stream, chunk }) => [stream, text(chunk)]).sort()).toEqual([
      ['stderr', 'err\n'],
      ['stdout', 'out\n'],
    ]);
    expect({ exitCode, closed }).toEqual({ exitCode: 3, closed: true });
  });

  it('waits when the server keeps 1 MiB that was not read, and goes on as it is read, without a loss', async () => {
    const process = await client.start({ argv: numbers(8 * MIB), delivery: 'pull' });
    const { pid } = await client.call<{ pid: number }>('process/stat', { processId: process.id });
    await atRest(pid);
    expect(process.notices).toEqual([]);
    const { oldestSeq, chunks } = await read(client, process.id, 0);
    expect([oldestSeq, chunks[0]?.seq]).toEqual([1, 1]);
    expect(chunks.reduce((sum, { chunk }) => sum + Buffer.byteLength(chunk, 'base64'), 0)).toBeLessThanOrEqual(MIB);

    const all = await readAll(client, process.id);

    const pushed = await client.start({ argv: numbers(8 * MIB) });
    await pushed.closed();
    expect(sha256(all)).toBe(sha256(pushed.bytes()));
  });

  it('can be read again from a number that was not confirmed, as after a lost answer', async () => {
    const process = await client.start({ argv: numbers(3 * MIB), delivery: 'pull' });
    const first = await read(client, process.id, 0, { maxBytes: 100_000, waitMs: 20_000 });
    const again = await read(client, process.id, 0, { maxBytes: 100_000 });
    expect(again.chunks.slice(0, first.chunks.length)).toEqual(first.chunks);
    await client.call('process/terminate', { processId: process.id });
  });

  it('keeps what was not read while no client is there', async () => {
    await using before = await connectBare(server.url);
    const sessionId = await before.initialize();
    const { id } = await before.start({ argv: numbers(2 * MIB), delivery: 'pull' });
    const { chunks } = await read(before, id, 0, { maxBytes: 100_000, waitMs: 20_000 });
    before.cut();

    await using after = await resume(server.url, sessionId);
    const rest = await readAll(after, id, chunks.at(-1)!.seq);

    const read0 = Buffer.concat(chunks.map(({ chunk }) => Buffer.from(chunk, 'base64')));
    expect(read0.length + rest.length).toBe(2 * MIB);
  });

  it('pushes with delivery: push, as without', async () => {
    const process = await client.start({ argv: ['echo', 'x'], delivery: 'push' });
    await process.closed();
    expect(process.output()).toBe('x\n');
  });

  it('refuses another delivery', async () => {
    await expect(client.start({ argv: ['true'], delivery: 'mail' })).rejects.toMatchObject({ code: -32602 });
  });
});

describe.each(reaches)('a client of the library that reaches a server $way', ({ reach }) => {
  it('runs commands to their end while the reader of another one does not go on', async () => {
    const far = await reach();
    const flood = await far.start({ argv: ['yes'], env: { PATH: '/usr/bin:/bin' }, delivery: 'pull' });
    const reader = flood.output[Symbol.asyncIterator]();
    await reader.next();

    for (const command of ['one', 'two', 'three']) {
      const process = await far.start({ argv: ['echo', command], env: { PATH: '/usr/bin:/bin' } });
      expect(Buffer.from((await process.communicate()).stdout).toString()).toBe(`${command}\n`);
    }
    await atRest((await flood.stat()).pid); // the flood waits for its reader

    await flood.terminate();
    for await (const _ of { [Symbol.asyncIterator]: () => reader });
    expect(await flood.wait()).toMatchObject({ closed: true, signal: 'SIGKILL' });
  });

  it('gets all of a pulled output, by iteration, at the end and in windows', async () => {
    const far = await reach();
    const start = { argv: numbers(4 * MIB), env: { PATH: '/usr/bin:/bin' }, delivery: 'pull' } as const;
    const iterated: Uint8Array[] = [];
    const first = await far.start(start);
    for await (const { bytes } of first.output) iterated.push(bytes);
    const { stdout, exitCode } = await (await far.start(start)).communicate();
    const windowed: Uint8Array[] = [];
    const third = await far.start(start);
    for (let running = true; running; ) {
      const window = await third.collect({ yieldMs: 50, maxBytes: 8 * MIB });
      windowed.push(window.output);
      running = window.running;
    }
    expect([Buffer.concat(iterated), stdout, Buffer.concat(windowed)].map(sha256)).toEqual(
      Array(3).fill(sha256(stdout)),
    );
    expect([stdout.length, exitCode]).toEqual([4 * MIB, 0]);
  });
});
