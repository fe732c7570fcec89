import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { json, text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../../base/index.ts';
import { HttpListener } from './http-listener.ts';
import { HttpRefusal } from './http-refusal.ts';

/** Answers every request with 404, and no upgrade. */
const listen = (reason: Error): Promise<HttpListener> =>
  HttpListener.listen({
    host: '127.0.0.1',
    port: 0,
    basePath: '',
    log: silentLogger,
    answer: async () => ({ status: 404 }),
    upgrade: () => Promise.reject(reason),
  });

const unavailable = { code: 'unavailable', message: 'the service cannot answer now' };

describe('the port of the rendezvous', () => {
  it.each([
    ['a refusal with its reason', new HttpRefusal(401, 'no', 'not you'), 401, { code: 'no', message: 'not you' }],
    ['a failure without its details', new Error('no route to 10.0.0.1'), 503, unavailable],
  ])('answers an upgrade with %s', async (_, reason, status, error) => {
    await using listener = await listen(reason);
    const asking = request(`${listener.url}/ws`, { headers: { connection: 'upgrade', upgrade: 'websocket' } }).end();

    const [answer] = (await once(asking, 'response')) as [IncomingMessage];

    expect([answer.statusCode, await json(answer)]).toEqual([status, { error }]);
  });

  it('closes the connection of every answer, even for a client that asks to keep it', async () => {
    await using listener = await listen(new Error());
    const client = connect(Number(new URL(listener.url).port), '127.0.0.1');
    client.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n');

    const answer = await text(client);

    expect(answer).toMatch(/^HTTP\/1.1 404 .*\r\nconnection: close\r\n/s);
  });
});
