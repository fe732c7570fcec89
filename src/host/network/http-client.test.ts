import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { deferred } from '../../base/index.ts';
import { Outgoing } from '../http/index.ts';
import { type BodyDelta, HttpClient } from './http-client.ts';
import { ServiceCookies } from './service-cookies.ts';

it('a streamed body is passed on piece by piece, each when there is room for it', async () => {
  const size = 4 * 1024 * 1024;
  const upstream = createServer((_, response) => response.end(Buffer.alloc(size))).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const ended = deferred();
  const seen = { bytes: 0, pieces: 0, atOnce: 0, most: 0 };
  await using client = new HttpClient({
    outgoing: Outgoing.direct,
    isUnsendable: () => false,
    cookies: new ServiceCookies(),
    onDelta: async ({ deltaBase64, done }: BodyDelta) => {
      seen.most = Math.max(seen.most, ++seen.atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      seen.atOnce--;
      seen.bytes += deltaBase64.length;
      seen.pieces++;
      if (done) ended.resolve();
    },
  });

  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`;
  await client.request({ method: 'GET', url, requestId: 's', streamResponse: true });
  await ended.promise;
  upstream.close();
  upstream.closeAllConnections();

  expect(seen.pieces).toBeGreaterThan(2);
  expect(seen).toMatchObject({ bytes: size, atOnce: 0, most: 1 });
});
