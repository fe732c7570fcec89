import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import {
  ManagedNetwork,
  type ManagedNetworkOptions,
  type NetworkDecision,
  type WantedConnection,
} from '../../../src/host/network/index.ts';
import type { NetworkProxyRules } from '../../../src/protocol/index.ts';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { networkRules } from '../../support/network-rules.ts';

interface Reported {
  readonly wanted: WantedConnection;
  readonly decision: NetworkDecision;
}

type Overrides = Partial<NetworkProxyRules> & Partial<Pick<ManagedNetworkOptions, 'ask' | 'resolve'>>;

async function startNetwork({ ask, resolve, ...rules }: Overrides) {
  const reported: Reported[] = [];
  const network = await ManagedNetwork.start({
    settings: {
      proxy: networkRules({ enableSocks5: true, ...rules }),
      ...(ask && { policyDecisionTimeoutMs: 1000 }),
    },
    ask: ask ?? (() => Promise.reject(new Error('no question was expected'))),
    report: (wanted, decision) => void reported.push({ wanted, decision }),
    ...(resolve && { resolve }),
  });
  const port = (variable: string) => Number(new URL(network.environment[variable]!).port);
  return { network, reported, http: port('HTTP_PROXY'), socks: port('ALL_PROXY') };
}

/** What comes back for these bytes until the other side closes. */
async function exchange(port: number, sent: string): Promise<string> {
  const socket = connectTcp({ host: '127.0.0.1', port });
  socket.write(sent);
  return await readText(socket);
}

const get = (port: number, url: string, method = 'GET') =>
  exchange(port, `${method} ${url} HTTP/1.1\r\nHost: lie.invalid\r\nConnection: close\r\n\r\n`);

const tunnelled = (port: number, target: string) =>
  exchange(port, `CONNECT ${target} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);

/** The reply code of a SOCKS5 server, and what follows it. */
async function viaSocks(port: number, host: string, target: number, command = 1): Promise<[number, string]> {
  const socket = connectTcp({ host: '127.0.0.1', port });
  const name = Buffer.from(host);
  socket.write(Buffer.of(5, 1, 0));
  socket.write(Buffer.concat([Buffer.of(5, command, 0, 3, name.length), name, Buffer.of(target >> 8, target & 255)]));
  socket.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  const answer = Buffer.concat(await socket.toArray());
  return [answer[3]!, answer.subarray(12).toString()];
}

const statusOf = (answer: string) => Number(answer.split(' ', 2)[1]);
const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);
const verdicts = (reported: readonly Reported[]) =>
  reported.map(
    ({ wanted, decision }) => `${wanted.protocol} ${decision.decision} ${decision.source} ${decision.reason}`,
  );

describe('the proxies of a managed network', () => {
  it('reach a listed host, each connection reported once', async () => {
    await using upstream = await HttpUpstream.start((incoming, outgoing) => {
      outgoing.end(`${incoming.method} ${incoming.url} ${incoming.headers.host}`);
    });
    const { port } = upstream;
    const resolve = async () => ['127.0.0.1'];
    const { network, reported, ...ports } = await startNetwork({
      domains: { 'ok.invalid': 'allow' },
      allowLocalBinding: true,
      resolve,
    });
    await using _ = network;

    const plain = await get(ports.http, `http://ok.invalid:${port}/x?y=1`);
    const tunnel = await tunnelled(ports.http, `ok.invalid:${port}`);
    const [reply, socks] = await viaSocks(ports.socks, 'ok.invalid', port);

    expect([statusOf(plain), bodyOf(plain)]).toEqual([200, expect.stringContaining(`GET /x?y=1 ok.invalid:${port}`)]);
    expect(tunnel).toMatch(/^HTTP\/1\.1 200 OK\r\n\r\nHTTP\/1\.1 200 OK[\s\S]*GET \/ h/);
    expect([reply, socks]).toEqual([0, expect.stringContaining('GET / h')]);
    expect(verdicts(reported)).toEqual([
      'http allow baseline_policy allow',
      'https_connect allow baseline_policy allow',
      'socks5_tcp allow baseline_policy allow',
    ]);
  });

  it('carry a request body and the answer to it', async () => {
    await using upstream = await HttpUpstream.start(async (incoming, outgoing) => {
      outgoing.end((await readText(incoming)).toUpperCase());
    });
    const { network, http } = await startNetwork({ domains: { '127.0.0.1': 'allow' } });
    await using _ = network;
    const head = `POST ${upstream.url}/ HTTP/1.1\r\nHost: h\r\nConnection: close\r\n`;

    const sized = await exchange(http, `${head}Content-Length: 5\r\n\r\nhello`);
    const chunked = await exchange(http, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`);
    const empty = await exchange(http, `${head}\r\n`);

    expect([sized, chunked, empty].map((answer) => [statusOf(answer), bodyOf(answer).includes('HELLO')])).toEqual([
      [200, true],
      [200, true],
      [200, false],
    ]);
  });

  it('refuse a host that is not listed in the way of each protocol', async () => {
    const { network, reported, ...ports } = await startNetwork({ domains: { 'denied.invalid': 'deny' } });
    await using _ = network;

    const plain = await get(ports.http, 'http://no.invalid/');
    const denied = await get(ports.http, 'http://denied.invalid/');
    const local = await get(ports.http, 'http://127.0.0.1:1/');
    const tunnel = await tunnelled(ports.http, 'no.invalid:443');

    expect(JSON.parse(bodyOf(plain))).toEqual({
      status: 'blocked',
      host: 'no.invalid',
      reason: 'not_allowed',
      decision: 'deny',
      source: 'baseline_policy',
      protocol: 'http',
      port: 80,
      message: expect.any(String),
    });
    expect([plain, denied, local, tunnel].map(statusOf)).toEqual([403, 403, 403, 403]);
    expect([plain, denied, local, tunnel].map((answer) => /x-proxy-error: (\S+)/.exec(answer)?.[1])).toEqual([
      'blocked-by-allowlist',
      'blocked-by-denylist',
      'blocked-by-allowlist',
      'blocked-by-allowlist',
    ]);
    expect([plain, tunnel].map((answer) => /content-type: (\S+)/.exec(answer)?.[1])).toEqual([
      'application/json',
      'text/plain',
    ]);
    expect((await viaSocks(ports.socks, 'no.invalid', 443))[0]).toBe(2);
    expect(verdicts(reported)).toEqual([
      'http deny baseline_policy not_allowed',
      'http deny baseline_policy denied',
      'http deny baseline_policy not_allowed_local',
      'https_connect deny baseline_policy not_allowed',
      'socks5_tcp deny baseline_policy not_allowed',
    ]);
  });

  it('refuse a listed name that leads to an address which is not public', async () => {
    const resolve = async () => ['127.0.0.1', '127.0.0.2'];
    const { network, reported, http } = await startNetwork({ domains: { 'ok.invalid': 'allow' }, resolve });
    await using _ = network;

    expect(statusOf(await get(http, 'http://ok.invalid/'))).toBe(403);
    expect(verdicts(reported)).toEqual(['http deny baseline_policy not_allowed_local']);
  });

  it('connect to the address that was judged, however the name resolves the next time', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end('judged'));
    let questions = 0;
    const resolve = async () => (questions++ === 0 ? ['127.0.0.1'] : ['127.0.0.2']);
    const { network, http } = await startNetwork({ domains: { localhost: 'allow' }, resolve });
    await using _ = network;

    const answer = await get(http, `http://localhost:${upstream.port}/`);

    expect([statusOf(answer), questions]).toEqual([200, 1]);
  });

  it('let a limited process only look', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end());
    const { network, reported, ...ports } = await startNetwork({ mode: 'limited', domains: { '127.0.0.1': 'allow' } });
    await using _ = network;

    const looked = await get(ports.http, upstream.url);
    const posted = await get(ports.http, upstream.url, 'POST');
    const tunnel = await tunnelled(ports.http, `127.0.0.1:${upstream.port}`);
    const [reply] = await viaSocks(ports.socks, '127.0.0.1', upstream.port);

    expect([looked, posted, tunnel].map(statusOf)).toEqual([200, 403, 403]);
    expect(posted).toContain('x-proxy-error: blocked-by-method-policy');
    expect(tunnel).toContain('x-proxy-error: blocked-by-mitm-required');
    expect(reply).toBe(2);
    expect(verdicts(reported)).toEqual([
      'http allow baseline_policy allow',
      'http allow baseline_policy allow',
      'http deny mode_guard method_not_allowed',
      'https_connect allow baseline_policy allow',
      'https_connect deny mode_guard mitm_required',
      'socks5_tcp deny mode_guard method_not_allowed',
    ]);
  });

  it('ask about what is not listed, and about nothing else', async () => {
    const asked: string[] = [];
    const { network, reported, http } = await startNetwork({
      domains: { 'denied.invalid': 'deny' },
      ask: async ({ host }) => {
        asked.push(host);
        return host === 'ask.invalid' ? { type: 'ask', reason: 'first ask' } : { type: 'deny', reason: 'not now' };
      },
    });
    await using _ = network;

    for (const host of ['denied.invalid', 'localhost', 'deny.invalid', 'ask.invalid'])
      await get(http, `http://${host}/`);

    expect(asked).toEqual(['deny.invalid', 'ask.invalid']);
    expect(verdicts(reported)).toEqual([
      'http deny baseline_policy denied',
      'http deny baseline_policy not_allowed_local',
      'http deny decider not now',
      'http ask decider first ask',
    ]);
  });

  it('let through what the client allows, and say that it was the client', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end('yes'));
    const { network, reported, http } = await startNetwork({
      allowLocalBinding: true,
      ask: async () => ({ type: 'allow' }),
      resolve: async () => ['127.0.0.1'],
    });
    await using _ = network;

    expect(statusOf(await get(http, `http://new.invalid:${upstream.port}/`))).toBe(200);
    expect(reported[0]?.decision).toEqual({
      decision: 'allow',
      source: 'decider',
      reason: 'not_allowed',
      policyOverride: true,
    });
  });

  it('say that a host was not reached', async () => {
    await using gone = await HttpUpstream.start(() => {});
    const { port } = gone;
    await gone[Symbol.asyncDispose]();
    const { network, ...ports } = await startNetwork({ domains: { '127.0.0.1': 'allow' } });
    await using _ = network;

    expect(statusOf(await get(ports.http, `http://127.0.0.1:${port}/`))).toBe(502);
    expect(statusOf(await tunnelled(ports.http, `127.0.0.1:${port}`))).toBe(502);
    expect((await viaSocks(ports.socks, '127.0.0.1', port))[0]).toBe(5);
  });

  it('refuse SOCKS commands other than connect', async () => {
    const { network, socks } = await startNetwork({});
    await using _ = network;

    expect([(await viaSocks(socks, 'h', 1, 2))[0], (await viaSocks(socks, 'h', 1, 3))[0]]).toEqual([7, 7]);
  });

  it('end every connection when they are closed', async () => {
    await using upstream = await HttpUpstream.start(() => {});
    const { network, http } = await startNetwork({ domains: { '127.0.0.1': 'allow' } });
    const socket = connectTcp({ host: '127.0.0.1', port: http });
    socket.on('error', () => {}); // a reset is an end, too
    socket.write(`CONNECT 127.0.0.1:${upstream.port} HTTP/1.1\r\n\r\n`);
    await once(socket, 'data');
    const [upstreamEnd] = upstream.sockets;

    await network[Symbol.asyncDispose]();

    await Promise.all([once(socket, 'close'), once(upstreamEnd!, 'close')]);
  });
});
