import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../support/digest.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { base64, connect, type WireClient } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const write = (client: WireClient, processId: string, writeId: string, chunk: string | Uint8Array) =>
  client.call('process/write', { processId, writeId, chunk: base64(chunk) });

describe('stdin', () => {
  it('reaches the process in the order of the writes', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    const lines = Array.from({ length: 500 }, (_, n) => `line ${n}\n`);
    const statuses = await Promise.all(lines.map((line, n) => write(client, process.id, `w${n}`, line)));
    expect(statuses).toEqual(lines.map(() => ({ status: 'accepted' })));
    await client.call('process/closeStdin', { processId: process.id });
    await process.closed();
    expect(process.output()).toBe(lines.join(''));
  });

  it('takes a write id once, whatever comes with it the second time', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    expect(await write(client, process.id, 'first', 'a')).toEqual({ status: 'accepted' });
    expect(await write(client, process.id, 'first', 'b')).toEqual({ status: 'accepted' });
    expect(await write(client, process.id, 'second', 'c')).toEqual({ status: 'accepted' });
    await client.call('process/closeStdin', { processId: process.id });
    await process.closed();
    expect(process.output()).toBe('ac');
    expect(await write(client, process.id, 'first', 'd')).toEqual({ status: 'accepted' });
  });

  it('remembers the last 4096 write ids', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    const ids = Array.from({ length: 4097 }, (_, n) => `w${n}`);
    await Promise.all(ids.map((id) => write(client, process.id, id, '.')));
    await write(client, process.id, 'w1', 'still known');
    await write(client, process.id, 'w0', 'forgotten');
    await client.call('process/closeStdin', { processId: process.id });
    await process.closed();
    expect(process.output()).toBe(`${'.'.repeat(4097)}forgotten`);
  });

  it('takes writes without an id as new ones each', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['cat'], pipeStdin: true });
    const params = { processId: process.id, chunk: base64('x') };
    await client.call('process/write', params);
    await client.call('process/write', params);
    await client.call('process/closeStdin', { processId: process.id });
    await process.closed();
    expect(process.output()).toBe('xx');
  });

  it('delivers 8 MB to a process that reads slower than they come', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'head -c 1000 > /dev/null; sha256sum'], pipeStdin: true });
    const input = randomBytes(8_000_000);
    const writes: Promise<unknown>[] = [];
    for (let at = 0; at < input.length; at += 500_000) {
      writes.push(write(client, process.id, `at ${at}`, input.subarray(at, at + 500_000)));
    }
    await Promise.all(writes);
    expect(await client.call('process/closeStdin', { processId: process.id })).toEqual({ status: 'accepted' });
    await process.closed();
    // `head` may take more than it prints, but a pipe gives it no more than one buffer: the sum must be of a suffix.
    const digest = process.output().slice(0, 64);
    const suffixes = [0, 1000, 1024, 4096, 8192, 65_536].map((from) => sha256(input.subarray(from)));
    expect(suffixes).toContain(digest);
  });

  it('tells unknown processes, closed inputs and ended processes apart', async () => {
    await using client = await connect(server.url);
    expect(await write(client, 'nobody', '1', 'x')).toEqual({ status: 'unknownProcess' });
    expect(await client.call('process/closeStdin', { processId: 'nobody' })).toEqual({ status: 'unknownProcess' });
    const deaf = await client.start({ argv: ['sleep', '900'] });
    expect(await write(client, deaf.id, '1', 'x')).toEqual({ status: 'stdinClosed' });
    expect(await client.call('process/closeStdin', { processId: deaf.id })).toEqual({ status: 'stdinClosed' });
    const ended = await client.start({ argv: ['true'], pipeStdin: true });
    await ended.closed();
    await expect(write(client, ended.id, '1', 'x')).rejects.toMatchObject({
      code: -32603,
      message: 'failed to write to process stdin',
    });
    await expect(write(client, ended.id, '', 'x')).rejects.toMatchObject({
      code: -32602,
      message: 'writeId must not be empty',
    });
  });

  it('can be closed once; later writes find it closed', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'cat; echo end; sleep 900'], pipeStdin: true });
    await write(client, process.id, '1', 'text ');
    expect(await client.call('process/closeStdin', { processId: process.id })).toEqual({ status: 'accepted' });
    expect(await process.printed('end')).toBe('text end\n');
    expect(await client.call('process/closeStdin', { processId: process.id })).toEqual({ status: 'stdinClosed' });
    expect(await write(client, process.id, '2', 'x')).toEqual({ status: 'stdinClosed' });
  });

  it('is empty for a process that did not ask for it', async () => {
    await using client = await connect(server.url);
    const process = await client.start({ argv: ['sh', '-c', 'cat; readlink /proc/self/fd/0'] });
    await process.closed();
    expect(process.output()).toBe('/dev/null\n');
  });

  it('is bounded: a write is answered when the child has taken it, and refused when 64 MiB wait', async () => {
    await using client = await connect(server.url);
    const process = await client.start({
      argv: ['sh', '-c', 'echo $$; kill -STOP $$; exec sha256sum'],
      pipeStdin: true,
    });
    const pid = Number(await process.printed('\n'));
    const pieces = Array.from({ length: 66 }, (_, n) => Buffer.alloc(1024 * 1024, `${n} `));
    let answered = 0;
    const writes = pieces.map((piece, n) =>
      write(client, process.id, `${n}`, piece).then(
        () => ++answered,
        (error: Error) => error.message,
      ),
    );

    expect(await writes.pop()).toContain('67108864 bytes wait for processes of this connection to read their stdin');
    expect(answered).toBe(1);
    const repeated = write(client, process.id, '5', 'the same again');
    const other = await client.start({ argv: ['cat'], pipeStdin: true });
    await write(client, other.id, 'w', 'others go on');
    await other.printed('others go on');
    await client.call('process/closeStdin', { processId: process.id });
    expect(answered).toBe(1);
    globalThis.process.kill(pid, 'SIGCONT');

    await Promise.all([...writes, repeated]);
    await process.closed();
    const expected = sha256(Buffer.concat(pieces.slice(0, -1)));
    expect(process.output()).toContain(expected);
  });
});
