import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../support/digest.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, connectBare } from '../../support/wire-client.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface HttpAnswer {
  readonly status: number | undefined;
  readonly body: string;
}

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'MDEyMzQ1Njc4OWFiY2RlZg==',
};

function http(
  url: string,
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url.replace('ws:', 'http:')}${path}`, options);
    sent.once('response', async (response) => resolve({ status: response.statusCode, body: await text(response) }));
    sent.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode, body: '' });
    });
    sent.once('error', reject).end();
  });
}

describe('the listener', () => {
  it.each([
    ['GET', '/readyz', {}, 200, ''],
    ['POST', '/readyz', {}, 405, ''],
    ['GET', '/readyz', { origin: 'null' }, 403, ''],
    ['GET', '/healthz', {}, 404, ''],
    ['GET', '/', {}, 400, "Connection header did not include 'upgrade'"],
    ['GET', '/', { origin: 'https://example.com', ...upgrade }, 403, ''],
    ['GET', '/?any=query', upgrade, 101, ''],
    ['GET', '/elsewhere', upgrade, 404, ''],
    [
      'GET',
      '/',
      { ...upgrade, 'sec-websocket-version': '8' },
      400,
      "`Sec-WebSocket-Version` header did not include '13'",
    ],
  ])('answers %s %s with headers %j by %i', async (method, path, headers, status, body) => {
    expect(await http(server.url, path, { method, headers })).toEqual({ status, body });
  });

  it('closes connections beyond the most it serves, and takes new ones when others have left', async () => {
    await using small = await startServer({ args: ['--max-connections', '2'] });
    const first = await connect(small.url);
    await using second = await connect(small.url);
    await expect(connect(small.url)).rejects.toThrow();
    first.cut();
    await first.closed;
    await expect
      .poll(() =>
        connect(small.url).then(
          async (third) => third.cut(),
          () => 'refused',
        ),
      )
      .toBeUndefined();
    expect(await second.call('environment/status')).toEqual({ status: 'ready' });
  });

  it('keeps no connection of those it refuses, though they keep theirs', async () => {
    const { port } = new URL(server.url);
    const socket = createConnection({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true });
    const headers = Object.entries(upgrade).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET /nowhere HTTP/1.1\r\nhost: x\r\n${headers.join('')}\r\n`);
    expect(String(await new Promise((resolve) => socket.once('data', resolve)))).toContain('404');
    const cut = new Promise((resolve) => socket.once('error', resolve));
    while (!socket.errored) {
      socket.write('still here');
      await setImmediate();
    }
    expect(await cut).toMatchObject({ code: expect.stringMatching(/EPIPE|ECONNRESET/) });
  });

  it('closes its connections with code 1001 when it stops', async () => {
    await using stopping = await startServer();
    const client = await connect(stopping.url);
    expect(await stopping.stop()).toBe(0);
    expect(await client.closed).toBe(1001);
  });
});

describe('messages', () => {
  it('are accepted as text and as binary, and answered as text', async () => {
    await using client = await connect(server.url);
    const kinds: boolean[] = [];
    client.socket.on('message', (_data, isBinary) => kinds.push(isBinary));
    client.raw(Buffer.from('{"id":"binary","method":"environment/status"}'));
    expect(await client.strayUntil(() => true)).toEqual({ id: 'binary', result: { status: 'ready' } });
    expect(kinds).toEqual([false]);
  });

  it.each([
    '',
    '  ',
    'nonsense',
    '[]',
    '{}',
    '{"id":1.5,"method":"x"}',
    '{"id":1,"method":"x","id":1}',
    Buffer.from([0xff]),
  ])('that are none, such as %j, are answered with id -1, and the connection goes on', async (message) => {
    await using client = await connect(server.url);
    client.raw(message);
    const prefix = /^failed to parse websocket JSON-RPC message from exec-server websocket 127\.0\.0\.1:\d+: /;
    expect(await client.strayUntil(() => true)).toEqual({
      id: -1,
      error: { code: -32600, message: expect.stringMatching(prefix) },
    });
    expect(await client.call('environment/status')).toEqual({ status: 'ready' });
  });

  it.each([
    ['process/start', { method: 'process/start', params: {} }],
    ['made/up', { method: 'made/up' }],
  ])('that notify of %s are answered with id -1 before the connection ends', async (name, message) => {
    await using client = await connect(server.url);
    client.raw(JSON.stringify(message));
    expect(await client.closed).toBe(1006);
    expect(client.stray).toEqual([{ id: -1, error: { code: -32600, message: `unexpected notification ${name}` } }]);
  });

  it.each([
    { id: 7, result: {} },
    { id: 7, error: { code: 1, message: '' } },
  ])('that answer what was not asked, such as %j, end the connection', async (message) => {
    await using client = await connect(server.url);
    client.raw(JSON.stringify(message));
    expect(await client.closed).toBe(1006);
  });

  it('with long strings and odd members are answered, and the connection goes on', async () => {
    await using client = await connect(server.url);
    const long = 'a'.repeat(20 * 1024 * 1024);
    for (const message of [
      `{"id":"duplicate","id":5,"method":"x","params":{"q":"${long}"}}`,
      `{"id":"float","method":"x","params":{"q":"${long}","f":1.5}}`,
      `{"id":9007199254740993,"method":"x","params":{"q":"${long}"}}`,
      `{"id":${'9'.repeat(1_000_000)},"method":"x"}`,
      `{"id":"deep","method":"x","params":${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
    ]) {
      client.raw(message);
    }
    expect(await client.call('environment/status')).toEqual({ status: 'ready' });
    expect(client.stray.length).toBe(5);
  });

  it('over 64 MiB end only the connection they came on', async () => {
    await using bystander = await connect(server.url);
    await using client = await connect(server.url);
    const padding = ' '.repeat(64 * 1024 * 1024);
    client.raw(`{"id":1,"method":"environment/status"}${padding}`);
    expect([1006, 1009]).toContain(await client.closed);
    expect(await bystander.call('environment/status')).toEqual({ status: 'ready' });
  });

  it('of 63 MiB are taken', async () => {
    await using client = await connect(server.url);
    client.raw(`{"id":"large","method":"environment/status"}${' '.repeat(63 * 1024 * 1024)}`);
    expect(await client.strayUntil(() => true)).toEqual({ id: 'large', result: { status: 'ready' } });
  });

  it('before the handshake are refused by what is missing', async () => {
    await using client = await connectBare(server.url);
    await expect(client.call('environment/status')).rejects.toMatchObject({
      code: -32600,
      message: 'client must call initialize before using environment status methods',
    });
    await client.call('initialize', { clientName: 'x' });
    await expect(client.call('process/list')).rejects.toMatchObject({
      code: -32600,
      message: 'client must send initialized before using exec methods',
    });
  });
});

describe('authentication', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'exec-server-auth-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const attempt = (url: string, authorization?: string) =>
    http(url, '/', { headers: { ...upgrade, ...(authorization !== undefined && { authorization }) } });

  it.each(['file', 'digest'])('by a token from a %s lets in only those who present it', async (source) => {
    const file = join(folder, 'token');
    await writeFile(file, 'open sesame\n');
    const digest = sha256('open sesame');
    const flags = source === 'file' ? ['--ws-token-file', file] : ['--ws-token-sha256', digest];
    await using guarded = await startServer({ args: ['--ws-auth', 'capability-token', ...flags] });
    const { url } = guarded;
    expect(await attempt(url)).toEqual({ status: 401, body: 'missing websocket bearer token' });
    expect(await attempt(url, 'Basic x')).toEqual({ status: 401, body: 'invalid authorization header' });
    expect(await attempt(url, 'Bearer wrong')).toEqual({ status: 401, body: 'invalid websocket bearer token' });
    expect(await attempt(url, 'bearer   open sesame ')).toEqual({ status: 101, body: '' });
    expect(await http(url, '/readyz')).toEqual({ status: 200, body: '' });
    await using client = await connect(url, { headers: { authorization: 'Bearer open sesame' } });
    expect(await client.call('environment/status')).toEqual({ status: 'ready' });
  });

  it('by signed tokens checks signature, time, issuer and audience', async () => {
    const secret = 'a secret of more than thirty-two bytes';
    const file = join(folder, 'secret');
    await writeFile(file, secret);
    await using guarded = await startServer({
      args: [
        '--ws-auth',
        'signed-bearer-token',
        '--ws-shared-secret-file',
        file,
        '--ws-issuer',
        'us',
        '--ws-audience',
        'hands',
      ],
    });
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: 'us', aud: ['hands', 'feet'], exp: now + 600 };
    const answer = async (changes: object, key = secret) => {
      const token = new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg: 'HS256' });
      return attempt(guarded.url, `Bearer ${await token.sign(Buffer.from(key))}`);
    };
    expect(await answer({})).toEqual({ status: 101, body: '' });
    expect(await answer({ exp: now - 10 })).toEqual({ status: 101, body: '' });
    expect(await answer({ exp: now - 100 })).toEqual({ status: 401, body: 'expired websocket jwt' });
    expect(await answer({ nbf: now + 100 })).toEqual({ status: 401, body: 'websocket jwt is not valid yet' });
    expect(await answer({ iss: 'them' })).toEqual({ status: 401, body: 'websocket jwt issuer mismatch' });
    expect(await answer({ aud: 'feet' })).toEqual({ status: 401, body: 'websocket jwt audience mismatch' });
    expect(await answer({ exp: undefined })).toEqual({ status: 401, body: 'invalid websocket jwt' });
    expect(await answer({}, 'another secret of thirty-two bytes!')).toEqual({
      status: 401,
      body: 'invalid websocket jwt',
    });
  });
});
