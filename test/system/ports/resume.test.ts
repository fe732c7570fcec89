import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { concatBytes, decodeUtf8, deferred } from '../../../src/base/index.ts';
import type { ExecServerClient } from '../../../src/client/index.ts';
import { connect } from '../../support/client-specification.ts';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { sha256 } from '../../support/digest.ts';
import { startServer } from '../../support/server.ts';
import { connect as connectWire } from '../../support/wire-client.ts';
import { PortServer } from './port-servers.ts';
import { reaches } from './reaches.ts';

/** One request over a connection of its own; the body of the answer. */
async function get(client: ExecServerClient, port: number, path: string): Promise<string> {
  await using stream = await client.openPort({ port });
  await stream.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 4\r\n\r\nbody`);
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  const text = decodeUtf8(concatBytes(parts));
  return text.slice(text.indexOf('\r\n\r\n') + 4);
}

describe.each(reaches)(
  'a connection to a port, when its client is cut off from a server that it reaches $way',
  ({ reach }) => {
    it('carries 1,000 HTTP requests, each answered once, over two cuts', async () => {
      const { client, cut } = await reach();
      const requests: string[] = [];
      const http = createServer((request, response) => {
        requests.push(request.url!);
        response.end(`answer to ${request.url} ${'.'.repeat(2000)}`);
      });
      await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
      const { port } = http.address() as AddressInfo;

      let next = 0;
      const worker = async (): Promise<void> => {
        for (let n = next++; n < 1000; n = next++) {
          if (n === 300 || n === 700) cut();
          expect(await get(client, port, `/${n}`)).toMatch(`answer to /${n} ....`);
        }
      };
      await Promise.all(Array.from({ length: 16 }, worker));
      http.close();

      expect(requests.toSorted()).toEqual(Array.from({ length: 1000 }, (_, n) => `/${n}`).toSorted());
    });
  },
);

describe('a connection to a port, when the connection of its client is cut again and again', () => {
  it('loses nothing and repeats nothing in either direction', async () => {
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, n) => `${n}\n`).join(''));
    await using port = await PortServer.listen((socket) => void socket.pipe(socket));
    await using server = await startServer();
    await using proxy = await CuttableProxy.start(server.url);
    await using client = await connect(proxy.url, { resumeIntervalMs: 5 });
    await using stream = await client.openPort({ port: port.port });

    const hash = createHash('sha256');
    const writing = stream.write(sent).then(() => stream.end());
    let untilCut = 0;
    for await (const part of stream) {
      hash.update(part);
      untilCut -= part.length;
      if (untilCut > 0) continue;
      proxy.cutAfter(Math.floor(Math.random() * 1_000_000) + 1);
      untilCut = 3_000_000;
    }
    await writing;

    expect(hash.digest('hex')).toBe(sha256(sent));
    expect(await stream.closed).toBeUndefined();
    expect(proxy.accepted).toBeGreaterThan(5);
  });
});

it('answers a repeated write like the first, when the other end resets the connection before it has read both', async () => {
  const accepted = deferred<Socket>();
  await using port = await PortServer.listen((socket) => accepted.resolve(socket)); // reads nothing
  await using server = await startServer();
  await using client = await connectWire(server.url);
  await client.call('net/open', { streamId: 's', port: port.port });

  const write = { streamId: 's', writeId: 'w', chunk: Buffer.alloc(16_000_000).toString('base64') };
  const answers = Promise.all([client.call('net/write', write), client.call('net/write', write)]);
  await client.call('net/list'); // both wait for the other end
  (await accepted.promise).resetAndDestroy();

  expect(await answers).toEqual([{ status: 'closed' }, { status: 'closed' }]);
});
