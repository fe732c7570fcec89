import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import { peakMiB, residentMiB } from '../support/proc.ts';
import { startServer } from '../support/server.ts';
import { connect } from '../support/wire-client.ts';

describe('back-pressure', () => {
  it.each([false, true])(
    'holds a flooding child while its client does not read, and loses nothing (tty %s)',
    async (tty) => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const idle = residentMiB(server.pid);
      client.socket.pause();
      const { tracked } = client.begin({ argv: ['sh', '-c', 'stty -opost 2>/dev/null; seq 1 6000000'], tty });
      await delay(3000); // the stall itself, not a wait for something
      const stalled = peakMiB(server.pid);
      client.socket.resume();
      await tracked.closed();
      expect(tracked.bytes().length).toBe(46_888_896);
      expect(sha256(tracked.bytes())).toBe(sha256(numbersTo(6_000_000)));
      expect(stalled - idle).toBeLessThan(200);
    },
  );

  it('is not lifted by a client that confirms what it has not received', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const content = Buffer.alloc(32 * 1024 * 1024, 'a file that is larger than what the system takes at once\n');
    await using folder = await scratchFolder();
    await writeFile(join(folder.path, 'large'), content);
    client.socket.pause();
    const answer = client.call<{ dataBase64: string }>('fs/readFile', { path: `file://${folder.path}/large` });
    for (let round = 0; round < 20; round++) {
      for (let probe = 1; probe <= 500; probe++) client.socket.pong(`probe ${probe}`);
      await delay(50); // while it is sent; nothing tells how far it has come
    }
    client.socket.resume();
    const { dataBase64 } = await answer;
    expect(sha256(Buffer.from(dataBase64, 'base64'))).toBe(sha256(content));
  });

  it('keeps memory bounded while 40 children flood a client that does not read', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const idle = residentMiB(server.pid);
    client.socket.pause();
    for (let n = 0; n < 40; n++) client.begin({ argv: ['yes'] });
    await delay(3000); // the stall itself
    expect(peakMiB(server.pid) - idle).toBeLessThan(200);
  });

  it('of one connection does not delay another', async () => {
    await using server = await startServer();
    await using slow = await connect(server.url);
    await using quick = await connect(server.url);
    await slow.start({ argv: ['yes'] });
    slow.socket.pause();
    const { tracked } = slow.begin({ argv: ['yes'] });
    for (let round = 0; round < 20; round++) {
      const process = await quick.start({ argv: ['seq', '1', '100000'] });
      await process.closed();
      expect(process.bytes().length).toBe(588_895);
    }
    expect(tracked.notices).toEqual([]);
  });

  it('of one process does not delay requests about others on the same connection', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const blocked = await client.start({ argv: ['sleep', '900'], pipeStdin: true });
    const chunk = Buffer.alloc(1_000_000).toString('base64');
    let written = 0;
    for (let n = 0; n < 5; n++) {
      void client.call('process/write', { processId: blocked.id, chunk }).then(
        () => written++,
        () => {}, // the process is killed below
      );
    }
    const other = await client.start({ argv: ['echo', 'past it'] });
    await other.closed();
    expect(written).toBeLessThan(5);
    expect(await client.call('process/terminate', { processId: blocked.id })).toEqual({ running: true });
    await blocked.closed();
  });

  it('lets a slow reader of a fast child have every byte', async () => {
    await using server = await startServer();
    await using client = await connect(server.url, { slowness: 2 });
    const process = await client.start({ argv: ['seq', '1', '800000'] });
    await process.closed();
    expect(sha256(process.bytes())).toBe(sha256(numbersTo(800_000)));
  });
});

async function scratchFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'back-pressure-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
