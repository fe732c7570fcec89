import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concatBytes, decodeUtf8, deferred } from '../../../src/base/index.ts';
import type { ExecServerClient, PortStream } from '../../../src/client/index.ts';
import { connect } from '../../support/client-specification.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { PortServer, textOf } from './port-servers.ts';

let server: TestServer;
let client: ExecServerClient;
beforeAll(async () => {
  server = await startServer();
  client = await connect(server.url);
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

async function all(stream: PortStream): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return decodeUtf8(concatBytes(parts));
}

describe('a connection to a port', () => {
  it('carries bytes both ways, and ends for each side apart', async () => {
    const heard = deferred<string>();
    await using port = await PortServer.listen(async (socket) => {
      socket.end('hello'); // this side is over before the other has begun
      heard.resolve(await textOf(socket));
    });
    await using stream = await client.openPort({ port: port.port });

    expect(await all(stream)).toBe('hello');
    await stream.write('still ');
    await stream.write('here');
    await stream.end();

    expect(await heard.promise).toBe('still here');
    expect(await stream.closed).toBeUndefined();
  });

  it('lets the other side answer after the end of what was sent', async () => {
    await using port = await PortServer.listen(async (socket) => socket.end((await textOf(socket)).toUpperCase()));
    await using stream = await client.openPort({ host: '127.0.0.1', port: port.port });

    await stream.write('question');
    await stream.end();

    expect(await all(stream)).toBe('QUESTION');
    expect(await stream.closed).toBeUndefined();
  });

  it('carries 64 MB each way at once', async () => {
    const sent = Buffer.alloc(64 * 1024 * 1024, 'x0123456789\n');
    await using port = await PortServer.listen((socket) => void socket.pipe(socket));
    await using stream = await client.openPort({ port: port.port });

    const hash = createHash('sha256');
    const writing = stream.write(sent).then(() => stream.end());
    for await (const part of stream) hash.update(part);
    await writing;

    expect(hash.digest('hex')).toBe(createHash('sha256').update(sent).digest('hex'));
  });
});
