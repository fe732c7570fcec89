import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { numbersTo, sha256 } from '../support/digest.ts';
import {
  appeared,
  argumentsOf,
  atRest,
  childrenOf,
  eventually,
  gone,
  peakMiB,
  residentMiB,
  uniqueSeconds,
} from '../support/proc.ts';
import { startServer } from '../support/server.ts';
import { base64, connect, type WireClient } from '../support/wire-client.ts';
import { restrictedRead, uri } from '../system/sandbox/fixture.ts';

describe('back-pressure', () => {
  it.each([false, true])(
    'holds a flooding child while its client does not read, and loses nothing (tty %s)',
    async (tty) => {
      await using server = await startServer();
      await using client = await connect(server.url);
      const idle = residentMiB(server.pid);
      client.socket.pause();
      const { tracked } = client.begin({ argv: ['sh', '-c', 'stty -opost 2>/dev/null; seq 1 6000000'], tty });
      await atRest(server.pid);
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

  describe.each(Object.entries(largeAnswers))('holds back %s while their client does not read', (_, ask) => {
    it('in bounded memory, and loses nothing', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      await using folder = await scratchFolder();
      const { call, contentOf, content } = await ask(client, folder.path);
      await call(); // so that a helper in a sandbox is there
      const idle = residentMiB(server.pid);

      client.socket.pause();
      const answers = Array.from({ length: 600 }, call);
      await atRest(server.pid);
      const stalled = peakMiB(server.pid);
      client.socket.resume();

      for (const answer of answers) expect(sha256(contentOf(await answer))).toBe(sha256(content));
      expect(stalled - idle).toBeLessThan(200);
    });

    it('and not what else it asks for', async () => {
      await using server = await startServer();
      await using client = await connect(server.url);
      await using folder = await scratchFolder();
      const { call } = await ask(client, folder.path);
      const seconds = uniqueSeconds();
      await client.start({ processId: 'sleeper', argv: ['sleep', seconds] });
      const [sleeper] = await appeared(seconds);

      client.socket.pause();
      const answers = Array.from({ length: 600 }, call);
      void client.call('fs/createDirectory', { path: `file://${folder.path}/made`, recursive: false });
      void client.call('process/terminate', { processId: 'sleeper' });

      await gone(sleeper!);
      await eventually('the directory', () => existsSync(join(folder.path, 'made')));
      client.cut();
      await expect(Promise.all(answers)).rejects.toThrow('the connection ended before the answer');
    });
  });

  it('holds back what is to be written by a helper that is stopped, and writes all of it when it goes on', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    await using folder = await scratchFolder();
    const sandbox = sandboxAround(folder.path);
    const write = (name: string, content: Buffer) =>
      client.call('fs/writeFile', { path: uri(join(folder.path, name)), dataBase64: base64(content), sandbox });
    await write('first', Buffer.from('so that there is a helper'));
    const helpers = below(server.pid).filter((pid) => /fs-helper/.test(argumentsOf(pid)[0] ?? ''));
    for (const pid of helpers) process.kill(pid, 'SIGSTOP');
    const idle = residentMiB(server.pid);

    const content = Buffer.alloc(1024 * 1024, 'content that waits in memory');
    const written = Array.from({ length: 400 }, (_, n) => write(`${n % 8}`, content));
    await atRest(server.pid);
    const stalled = peakMiB(server.pid);
    for (const pid of helpers) process.kill(pid, 'SIGCONT');

    await Promise.all(written);
    expect(helpers.length).toBeGreaterThan(0);
    expect(stalled - idle).toBeLessThan(250);
    for (let n = 0; n < 8; n++) expect(sha256(await readFile(join(folder.path, `${n}`)))).toBe(sha256(content));
  });

  it('holds back complaints about what a client sends that does not read', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const idle = residentMiB(server.pid);
    client.socket.pause();
    for (let n = 0; n < 800_000; n++) client.raw('}');
    await atRest(server.pid);
    expect(peakMiB(server.pid) - idle).toBeLessThan(100);
  });

  it('keeps memory bounded while 40 children flood a client that does not read', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const idle = residentMiB(server.pid);
    client.socket.pause();
    for (let n = 0; n < 40; n++) client.begin({ argv: ['yes'] });
    await atRest(server.pid);
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

interface LargeAnswers {
  readonly content: Buffer;
  call(): Promise<Record<string, unknown>>;
  contentOf(answer: Record<string, unknown>): Buffer;
}

type Ask = (client: WireClient, folder: string) => Promise<LargeAnswers>;

async function makeLarge(folder: string): Promise<{ path: string; content: Buffer }> {
  const content = Buffer.alloc(1024 * 1024, 'a file that is too large for the outbox\n');
  await writeFile(join(folder, 'large'), content);
  return { path: `file://${folder}/large`, content };
}

const readsFile =
  (sandboxOf: (folder: string) => object | undefined): Ask =>
  async (client, folder) => {
    const { path, content } = await makeLarge(folder);
    return {
      content,
      call: () => client.call('fs/readFile', { path, sandbox: sandboxOf(folder) }),
      contentOf: ({ dataBase64 }) => Buffer.from(dataBase64 as string, 'base64'),
    };
  };

const sandboxAround = (folder: string): object => ({
  permissions: {
    type: 'managed',
    file_system: { type: 'restricted', entries: restrictedRead },
    network: 'restricted',
  },
  windowsSandboxLevel: 'disabled',
  cwd: uri(folder),
  workspaceRoots: [uri(folder)],
});

/** A process that has printed 1 MiB. */
async function printer(client: WireClient): Promise<{ processId: string; content: Buffer }> {
  const process = await client.start({ argv: ['sh', '-c', 'yes "text that a process has printed" | head -c 1000000'] });
  await process.closed();
  return { processId: process.id, content: Buffer.from(process.bytes()) };
}

/** Requests whose answers have 1 MiB of content each. */
const largeAnswers: Record<string, Ask> = {
  'whole files': readsFile(() => undefined),
  'whole files out of a sandbox': readsFile(sandboxAround),
  'blocks of a file': async (client, folder) => {
    const { path, content } = await makeLarge(folder);
    await client.call('fs/open', { handleId: 'h', path, mode: 'read' });
    return {
      content,
      call: () => client.call('fs/readBlock', { handleId: 'h', offset: 0, len: content.length }),
      contentOf: ({ chunk }) => Buffer.from(chunk as string, 'base64'),
    };
  },
  'output of a process': async (client) => {
    const { processId, content } = await printer(client);
    return {
      content,
      call: () => client.call('process/read', { processId, waitMs: 1000 }),
      contentOf: ({ chunks }) =>
        Buffer.concat((chunks as { chunk: string }[]).map(({ chunk }) => Buffer.from(chunk, 'base64'))),
    };
  },
  'snapshots of a process': async (client) => {
    const { processId, content } = await printer(client);
    return {
      content,
      call: () => client.call('process/snapshot', { processId }),
      contentOf: ({ stdout }) => Buffer.from(stdout as string, 'base64'),
    };
  },
  'lists of processes': async (client) => {
    const names = Array.from({ length: 8000 }, (_, n) => `an argument, which is number ${n}`);
    for (let n = 0; n < 2; n++) await client.start({ argv: ['sh', '-c', 'exec sleep 900', ...names] });
    const { processes } = await client.call<{ processes: unknown }>('process/list');
    return {
      content: Buffer.from(JSON.stringify(processes)),
      call: () => client.call('process/list'),
      contentOf: ({ processes }) => Buffer.from(JSON.stringify(processes)),
    };
  },
  'bodies of HTTP answers': async (client, folder) => {
    const { content } = await makeLarge(folder);
    const origin = createServer((_, response) => response.end(content)).listen(0, '127.0.0.1');
    await once(origin, 'listening');
    origin.unref();
    const { port } = origin.address() as AddressInfo;
    let n = 0;
    return {
      content,
      call: () =>
        client.call('http/request', {
          requestId: `${n++}`,
          method: 'GET',
          url: `http://127.0.0.1:${port}/`,
          headers: [],
        }),
      contentOf: ({ bodyBase64 }) => Buffer.from(bodyBase64 as string, 'base64'),
    };
  },
};

async function scratchFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'back-pressure-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

const below = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child.pid, ...below(child.pid)]);
