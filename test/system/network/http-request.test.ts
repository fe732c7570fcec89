import { once } from 'node:events';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { startServer } from '../../support/server.ts';
import { base64, connect, text, type WireClient } from '../../support/wire-client.ts';

interface HttpResult {
  status: number;
  headers: { name: string; value: string }[];
  bodyBase64: string;
}

interface Delta {
  requestId: string;
  seq: number;
  deltaBase64: string;
  done: boolean;
  error: string | null;
}

const request = (client: WireClient, params: Readonly<Record<string, unknown>>) =>
  client.call<HttpResult>('http/request', { method: 'GET', requestId: 'r', ...params });

const deltaOf = (message: unknown, requestId: string): Delta | undefined => {
  const { method, params } = message as { method?: string; params?: Delta };
  return method === 'http/request/bodyDelta' && params?.requestId === requestId ? params : undefined;
};

const whole = async (client: WireClient, requestId: string): Promise<Delta[]> => {
  await client.strayUntil((message) => deltaOf(message, requestId)?.done === true);
  return client.stray.flatMap((message) => deltaOf(message, requestId) ?? []);
};

describe('http/request', () => {
  it('sends headers in their order and answers with those of the response, repeated ones too', async () => {
    await using upstream = await HttpUpstream.start((incoming, outgoing) => {
      outgoing.writeHead(200, ['X-Multi', 'a', 'X-Multi', 'b', 'X-Raw', 'caf\u00e9']);
      outgoing.end(JSON.stringify(incoming.rawHeaders));
    });
    await using server = await startServer();
    await using client = await connect(server.url);

    const headers = ['B', 'A', 'b'].map((name, at) => ({ name, value: String(at) }));
    const answer = await request(client, { url: upstream.url, headers });

    const sent = JSON.parse(text(answer.bodyBase64)) as string[];
    expect(sent.filter((_, at) => at % 2 === 0 && /^[ab]$/i.test(sent[at]!))).toEqual(['B', 'A', 'b']);
    expect(answer.headers.filter(({ name }) => name.startsWith('x-'))).toEqual([
      { name: 'x-multi', value: 'a' },
      { name: 'x-multi', value: 'b' },
    ]);
  });

  it('follows redirects with their method and body where the status keeps them', async () => {
    await using upstream = await HttpUpstream.start(async (incoming, outgoing) => {
      const body = await readText(incoming);
      if (incoming.url === '/to') outgoing.end(`${incoming.method} ${body}`);
      else outgoing.writeHead(Number(incoming.url!.slice(1)), { location: '/to' }).end();
    });
    await using server = await startServer();
    await using client = await connect(server.url);

    const arrivedAfter = async (status: number) => {
      const params = { url: `${upstream.url}/${status}`, method: 'POST', bodyBase64: base64('payload') };
      return text((await request(client, params)).bodyBase64);
    };

    expect([await arrivedAfter(303), await arrivedAfter(307)]).toEqual(['GET ', 'POST payload']);
  });

  it('gives up on a chain of redirects without an end', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.writeHead(302, { location: '/' }).end());
    await using server = await startServer();
    await using client = await connect(server.url);

    await expect(request(client, { url: upstream.url })).rejects.toMatchObject({
      code: -32603,
      message: 'http/request failed: too many redirects',
    });
  });

  it('outlives a redirect that it does not follow', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => {
      outgoing.writeHead(302, { location: 'ftp://127.0.0.1/' }).write('unfinished');
    });
    await using server = await startServer();
    await using client = await connect(server.url);

    await expect(request(client, { url: upstream.url })).rejects.toThrow('unsupported URL scheme: ftp');

    expect(await client.call('environment/status')).toEqual({ status: 'ready' });
  });

  it('refuses a body that is too large for one message, and streams it', async () => {
    const size = 33 * 1024 * 1024;
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end(Buffer.alloc(size, 'x')));
    await using server = await startServer();
    await using client = await connect(server.url);

    await expect(request(client, { url: upstream.url })).rejects.toMatchObject({ code: -32603 });
    await request(client, { url: upstream.url, requestId: 's', streamResponse: true });

    const deltas = await whole(client, 's');
    const bytes = deltas.reduce((sum, { deltaBase64 }) => sum + Buffer.from(deltaBase64, 'base64').length, 0);
    expect(bytes).toBe(size);
    expect(deltas.map(({ seq }) => seq)).toEqual(deltas.map((_, at) => at + 1));
    expect(Math.max(...deltas.map(({ deltaBase64 }) => deltaBase64.length))).toBeLessThanOrEqual(1_398_104);
  });

  it('ends the connection upstream when the client is gone', async () => {
    const sockets: Promise<unknown>[] = [];
    await using upstream = await HttpUpstream.start((_, outgoing) => {
      sockets.push(once(outgoing, 'close'));
      outgoing.writeHead(200).write('begun');
    });
    await using server = await startServer();
    const client = await connect(server.url);
    await request(client, { url: upstream.url, requestId: 's', streamResponse: true });
    await client.strayUntil((message) => deltaOf(message, 's') !== undefined);

    client.cut();

    await sockets[0];
  });

  it('keeps the time limit over the body too', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => void outgoing.writeHead(200).write('begun'));
    await using server = await startServer();
    await using client = await connect(server.url);

    await expect(request(client, { url: upstream.url, timeoutMs: 50 })).rejects.toMatchObject({ code: -32603 });
    await request(client, { url: upstream.url, requestId: 's', streamResponse: true, timeoutMs: 500 });

    expect((await whole(client, 's')).at(-1)).toMatchObject({ done: true, error: 'operation timed out' });
  });

  it('goes through the proxy of the server, except where the server has an exception', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end('direct'));
    await using proxy = await HttpUpstream.start((incoming, outgoing) => outgoing.end(`via proxy ${incoming.url}`));
    const env = { HTTP_PROXY: proxy.url, http_proxy: '', NO_PROXY: '127.0.0.1', no_proxy: '' };
    await using server = await startServer({ env });
    await using client = await connect(server.url);

    const there = async (url: string) => text((await request(client, { url })).bodyBase64);

    expect(await there('http://far.invalid/x')).toBe('via proxy http://far.invalid/x');
    expect(await there(upstream.url)).toBe('direct');
  });

  it('says why a server was not reached', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);

    await expect(request(client, { url: 'http://127.0.0.1:1/' })).rejects.toThrow(
      /^http\/request failed: error sending request for url \(http:\/\/127\.0\.0\.1:1\/\): .*ECONNREFUSED/,
    );
  });
});
