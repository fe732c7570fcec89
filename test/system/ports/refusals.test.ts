import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';
import { PortServer } from './port-servers.ts';

let folder: string;
let server: TestServer;
let client: WireClient;
let other: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exec-server-ports-'));
  other = await startServer({ args: ['--listen', `unix:${join(folder, 'own.sock')}`] });
  const listed = ['listed.sock', 'own.sock', 'link.sock', 'own-link.sock'].map((name) => `unix:${join(folder, name)}`);
  const hosts = ['metadata.test:80', '169.254.1.1:80', '[fe80::1]:80'];
  server = await startServer({ args: [...listed, ...hosts].flatMap((target) => ['--allow-forward', target]) });
  client = await connect(server.url);
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await Promise.all([server.stop(), other.stop()]);
  await rm(folder, { recursive: true });
});

let opened = 0;
async function refusal(target: object): Promise<string> {
  try {
    await client.call('net/open', { streamId: `s${opened++}`, ...target });
    return 'opened';
  } catch (error) {
    return (error as Error).message;
  }
}

const portOf = ({ url }: TestServer): number => Number(new URL(url).port);

describe('a connection is refused', () => {
  it.each([
    ['169.254.169.254', 'host 169.254.169.254 port 80 may not be reached: only loopback and what allow_forward lists'],
    ['::ffff:169.254.169.254', 'host 169.254.169.254 port 80 may not be reached'],
    ['fe80::2', 'host fe80::2 port 80 may not be reached'],
    ['fd00:ec2::254', 'host fd00:ec2::254 port 80 may not be reached'],
    ['0.0.0.0', 'host 0.0.0.0 port 80 may not be reached'],
    ['::', 'host :: port 80 may not be reached'],
    ['192.0.2.1', "to allow it, add '192.0.2.1:80' to the setting allow_forward of the server"],
    ['2001:db8::1', "to allow it, add '[2001:db8::1]:80' to the setting allow_forward of the server"],
    ['example.test', "to allow it, add 'example.test:80' to the setting allow_forward of the server"],
    ['2130706433', 'host is not a name or an address: "2130706433"'],
    ['127.1', 'host is not a name or an address: "127.1"'],
    ['::1%lo', 'host is not a name or an address: "::1%lo"'],
    ['a b', 'host is not a name or an address: "a b"'],
  ])('to %s, which is not loopback', async (host, message) => {
    expect(await refusal({ host, port: 80 })).toContain(message);
  });

  it('to a listed address at another port', async () => {
    expect(await refusal({ host: '169.254.1.1', port: 81 })).toContain('may not be reached');
  });

  it('to the server itself and to another one, by any spelling of loopback', async () => {
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '::ffff:127.0.0.1', '::1']) {
      expect(await refusal({ host, port: portOf(server) })).toMatch(
        /may not be reached: a listener of exec-server is there$/,
      );
    }
    await using third = await startServer();
    expect(await refusal({ port: portOf(third) })).toMatch(/a listener of exec-server is there$/);
  });

  it('to a Unix socket that is not listed, whether it exists or not', async () => {
    await using _socket = await PortServer.listen((socket) => socket.end('x'), { path: join(folder, 'quiet.sock') });
    for (const name of ['quiet.sock', 'missing.sock']) {
      const path = join(folder, name);
      expect(await refusal({ path })).toBe(
        `socket ${path} may not be reached: to allow it, add 'unix:${path}' to the setting allow_forward of the server`,
      );
    }
  });

  it('to a Unix socket of exec-server, by its path or by a link, although it is listed', async () => {
    const [own, link] = [join(folder, 'own.sock'), join(folder, 'own-link.sock')];
    await symlink(own, link);
    expect(await refusal({ path: own })).toBe(`socket ${own} may not be reached: exec-server listens there`);
    expect(await refusal({ path: link })).toBe(`socket ${link} may not be reached: exec-server listens there`);
  });

  it('to where a listed path is led by a link', async () => {
    const [link, real] = [join(folder, 'link.sock'), join(folder, 'real.sock')];
    await using _socket = await PortServer.listen((socket) => socket.end('x'), { path: real });
    await symlink(real, link);
    expect(await refusal({ path: link })).toContain(`it is a link to ${real}`);
  });

  it('to what is not a socket, and to a listed path where nothing is', async () => {
    const path = join(folder, 'listed.sock');
    expect(await refusal({ path })).toBe(`cannot connect to ${path}: there is no such file`);
    expect(await refusal({ path: 'relative' })).toBe('path is not an absolute path: "relative"');
  });

  it('to a port where nothing listens', async () => {
    const gone = await PortServer.listen((socket) => socket.end());
    const { port } = gone;
    await gone[Symbol.asyncDispose]();
    expect(await refusal({ port })).toBe(
      `cannot connect to localhost port ${port}: nothing listens there (ECONNREFUSED)`,
    );
  });

  it('without a port or a path, and with both', async () => {
    expect(await refusal({})).toBe('exactly one of `port` and `path` must be given');
    expect(await refusal({ port: 1, path: '/x' })).toBe('exactly one of `port` and `path` must be given');
    expect(await refusal({ port: 0 })).toBe('port must be between 1 and 65535');
  });

  it('under an id that is in use, unless it is the same request again', async () => {
    await using port = await PortServer.listen(() => {});
    const params = { streamId: 'twice', port: port.port, openId: 'o' };
    await client.call('net/open', params);
    await client.call('net/open', params);
    expect(port.connections).toBe(1);
    await expect(client.call('net/open', { ...params, openId: 'p' })).rejects.toThrow('stream twice already exists');
    await client.call('net/close', { streamId: 'twice' });
  });

  it('beyond 256 at a time, until one is closed', async () => {
    await using crowd = await connect(server.url);
    await using port = await PortServer.listen(() => {});
    const open = (n: number) => crowd.call('net/open', { streamId: `c${n}`, port: port.port });
    await Promise.all(Array.from({ length: 256 }, (_, n) => open(n)));
    await expect(open(256)).rejects.toThrow('at most 256 streams may be open per session; close one first');
    await crowd.call('net/close', { streamId: 'c0' });
    await crowd.call('net/read', { streamId: 'c0', waitMs: 10_000 });
    await expect(open(256)).resolves.toEqual({});
  });

  it('in the network of a process that this client does not have', async () => {
    await using stranger = await connect(server.url);
    await stranger.start({ processId: 'theirs', argv: ['sleep', '60'] });
    expect(await refusal({ port: 1, processId: 'theirs' })).toBe('unknown process id theirs');
  });
});

describe('a listed Unix socket', () => {
  it('is reached', async () => {
    const path = join(folder, 'listed.sock');
    await using _socket = await PortServer.listen((socket) => socket.end('from the socket'), { path });
    await client.call('net/open', { streamId: 'unix', path });
    const read = await client.call('net/read', { streamId: 'unix', waitMs: 5000 });
    expect(read).toMatchObject({ chunks: [{ chunk: Buffer.from('from the socket').toString('base64') }] });
    await client.call('net/close', { streamId: 'unix' });
  });
});

it('every open is in the audit log before it is made, and every refusal with its reason', async () => {
  const log = join(folder, 'audit.jsonl');
  await using audited = await startServer({ args: ['--audit-log', log] });
  await using caller = await connect(audited.url);
  await using port = await PortServer.listen(() => {});
  await caller.call('net/open', { streamId: 'a', port: port.port });
  await expect(caller.call('net/open', { streamId: 'b', host: '192.0.2.1', port: 80 })).rejects.toThrow();

  const lines = (await readFile(log, 'utf8')).trim().split('\n');
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(records.filter(({ event }) => String(event).startsWith('port.'))).toMatchObject([
    { event: 'port.opening', streamId: 'a', host: 'localhost', port: port.port },
    {
      event: 'port.refused',
      streamId: 'b',
      host: '192.0.2.1',
      port: 80,
      reason: expect.stringContaining('may not be'),
    },
  ]);
});
