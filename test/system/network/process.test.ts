import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { execPath } from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { HttpUpstream } from '../../support/http-upstream.ts';
import { networkRules } from '../../support/network-rules.ts';
import { startServer } from '../../support/server.ts';
import { base64, connect, type WireClient } from '../../support/wire-client.ts';

const rules = networkRules({ enableSocks5: true });

/** A program that says where its proxy is, then asks it for a URL per line of its input. */
const fetcher = `
  const { request } = require('node:http');
  const { hostname, port } = new URL(process.env.HTTP_PROXY);
  console.log(port);
  require('node:readline').createInterface({ input: process.stdin }).on('line', (path) => {
    request({ hostname, port, path }, (answer) => {
      answer.resume().on('end', () => console.log(answer.statusCode, answer.headers['x-proxy-error'] ?? '-'));
    }).end();
  });
`;

interface ServerRequest {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly request: { readonly host: string } };
}

interface PolicyDecision {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The question about a host, whether it is here already or yet to come. */
const nextQuestion = async (client: WireClient, host: string): Promise<ServerRequest> => {
  const isIt = (message: ServerRequest) =>
    message.method === 'network/policyRequest' && message.params.request.host === host;
  return (await client.strayUntil((message) => isIt(message as unknown as ServerRequest))) as unknown as ServerRequest;
};

const decisionsOf = (client: WireClient) =>
  (client.stray as unknown as PolicyDecision[]).filter(({ method }) => method === 'network/policyDecision');

const readOnly = {
  permissions: {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
    },
    network: 'restricted',
  },
  cwd: 'file:///',
  workspaceRoots: ['file:///'],
  windowsSandboxLevel: 'disabled',
};

/** Starts the program; `fetched` gives what it printed about a URL. */
async function startFetcher(client: WireClient, settings: object = {}, proxy: object = {}, confinement: object = {}) {
  const processId = 'fetcher';
  const process = await client.start({
    processId,
    argv: [execPath, '-e', fetcher],
    pipeStdin: true,
    networkProxy: { proxy: { ...rules, ...proxy }, ...settings },
    ...confinement,
  });
  const lines = () => process.output('stdout').split('\n').slice(0, -1);
  const line = async (number: number): Promise<string> => {
    await process.until(() => lines().length > number);
    return lines()[number]!;
  };
  let asked = 0;
  const fetched = async (url: string): Promise<string> => {
    await client.call('process/write', { processId, writeId: `${++asked}`, chunk: base64(`${url}\n`) });
    return await line(asked);
  };
  return { process, fetched, port: Number(await line(0)) };
}

const refused = (port: number) => {
  const socket = connectTcp({ host: '127.0.0.1', port });
  return once(socket, 'connect').then(
    () => false,
    (error) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED',
  );
};

describe('a process with a managed network', () => {
  it('finds its proxies in its environment, over whatever the request says', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);

    const process = await client.start({
      argv: ['/usr/bin/env'],
      env: { HTTP_PROXY: 'http://elsewhere.invalid' },
      networkProxy: { proxy: rules },
    });
    await process.closed();

    const env = Object.fromEntries(
      process
        .output()
        .split('\n')
        .map((line) => line.split(/=(.*)/, 2)),
    );
    const { HTTP_PROXY: http, ALL_PROXY: socks } = env as Record<string, string>;
    expect([http, socks]).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      expect.stringMatching(/^socks5h:\/\/127\.0\.0\.1:\d+$/),
    ]);
    expect(env).toMatchObject({
      https_proxy: http,
      npm_config_https_proxy: http,
      all_proxy: socks,
      NO_PROXY: '',
      CODEX_NETWORK_PROXY_ACTIVE: '1',
      CODEX_NETWORK_ALLOW_LOCAL_BINDING: '0',
      NODE_USE_ENV_PROXY: '1',
    });
  });

  it('reaches what is listed and is refused the rest, and its client hears of both', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end());
    await using server = await startServer();
    await using client = await connect(server.url);
    const { fetched } = await startFetcher(client, {}, { domains: { '127.0.0.1': 'allow' } });

    expect(await fetched(upstream.url)).toBe('200 -');
    expect(await fetched('http://other.invalid/')).toBe('403 blocked-by-allowlist');

    await client.strayUntil(() => decisionsOf(client).length === 2);
    expect(decisionsOf(client).map(({ params }) => params)).toEqual([
      expect.objectContaining({ processId: 'fetcher', scope: 'domain', decision: 'allow', host: '127.0.0.1' }),
      {
        processId: 'fetcher',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        scope: 'domain',
        decision: 'deny',
        source: 'baseline_policy',
        reason: 'not_allowed',
        protocol: 'http',
        host: 'other.invalid',
        port: 80,
        method: 'GET',
        client: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        policyOverride: false,
      },
    ]);
  });

  it('waits for its client where a host is not listed', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const { fetched } = await startFetcher(client, { policyDecisionTimeoutMs: 60_000 });
    const answers: Record<string, object> = {
      'deny.invalid': { result: { decision: { type: 'deny', reason: 'not now' } } },
      'ask.invalid': { result: { decision: { type: 'ask', reason: 'later' } } },
      'error.invalid': { error: { code: -32601, message: 'unknown' } },
      'nonsense.invalid': { result: { decision: { type: 'perhaps' } } },
      'control.invalid': { result: { decision: { type: 'deny', reason: 'a\u0007b' } } },
      'long.invalid': { result: { decision: { type: 'deny', reason: 'x'.repeat(1025) } } },
      'empty.invalid': { result: { decision: { type: 'deny', reason: '' } } },
    };

    for (const [host, answer] of Object.entries(answers)) {
      const answered = fetched(`http://${host}/`);
      const { id } = await nextQuestion(client, host);
      client.raw(JSON.stringify({ id, ...answer }));
      expect(await answered).toMatch(/^403/);
    }

    expect(
      decisionsOf(client).map(({ params }) => [params.host, params.decision, params.source, params.reason]),
    ).toEqual([
      ['deny.invalid', 'deny', 'decider', 'not now'],
      ['ask.invalid', 'ask', 'decider', 'later'],
      ['error.invalid', 'deny', 'decider', 'not_allowed'],
      ['nonsense.invalid', 'deny', 'decider', 'not_allowed'],
      ['control.invalid', 'deny', 'decider', 'not_allowed'],
      ['long.invalid', 'deny', 'decider', 'not_allowed'],
      ['empty.invalid', 'deny', 'decider', 'policy_denied'],
    ]);
  });

  it('is refused once its client has been silent for too long, and the late answer does no harm', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const { fetched } = await startFetcher(client, { policyDecisionTimeoutMs: 1 });

    expect(await fetched('http://late.invalid/')).toBe('403 blocked-by-allowlist');

    const { id } = await nextQuestion(client, 'late.invalid');
    client.raw(JSON.stringify({ id, result: { decision: { type: 'allow' } } }));
    expect(await client.call('environment/status')).toEqual({ status: 'ready' });
  });

  it('is refused when its client is gone', async () => {
    await using server = await startServer();
    const client = await connect(server.url);
    const { port } = await startFetcher(client, { policyDecisionTimeoutMs: 60_000 });
    const socket = connectTcp({ host: '127.0.0.1', port });
    socket.write('GET http://gone.invalid/ HTTP/1.1\r\nHost: gone.invalid\r\nConnection: close\r\n\r\n');
    await nextQuestion(client, 'gone.invalid');

    client.cut();

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('takes its proxies with it when it closes, and when it is refused', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const { process, port } = await startFetcher(client);

    await client.call('process/terminate', { processId: process.id });
    await process.closed();

    expect(await refused(port)).toBe(true);
    await expect(
      client.call('process/start', {
        processId: 'missing',
        argv: ['/missing'],
        cwd: 'file:///',
        env: {},
        tty: false,
        networkProxy: { proxy: rules },
      }),
    ).rejects.toMatchObject({ code: -32603 });
    expect(await server.stop()).toBe(0);
  });

  it('reaches its proxies from a sandbox that must use them', async () => {
    await using upstream = await HttpUpstream.start((_, outgoing) => outgoing.end());
    await using server = await startServer();
    await using client = await connect(server.url);
    const confinement = { sandbox: readOnly, enforceManagedNetwork: true };
    const { fetched } = await startFetcher(client, {}, { domains: { '127.0.0.1': 'allow' } }, confinement);

    expect(await fetched(upstream.url)).toBe('200 -');
    expect(await fetched('http://other.invalid/')).toBe('403 blocked-by-allowlist');
  });

  it('is not started when its network cannot be as asked for', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const failure = async (processId: string, settings: object, proxy: object = {}) => {
      const networkProxy = { proxy: { ...rules, ...proxy }, ...settings };
      const { started } = client.begin({ processId, argv: ['/bin/true'], networkProxy });
      return await started.then(
        () => 'started',
        ({ code, message }) => `${code} ${message}`,
      );
    };

    expect(await failure('a', {}, { enabled: false })).toBe(
      '-32602 invalid network proxy config: executor-local network proxy launch requires an enabled proxy',
    );
    expect(await failure('b', { policyDecisionTimeoutMs: 0 })).toBe(
      '-32602 network policy decision callback timeout must be nonzero',
    );
    expect(await failure('', { policyDecisionTimeoutMs: 1 })).toBe(
      '-32602 callback-enabled process ID must be non-empty and at most 256 bytes',
    );
    expect(await failure('c', {}, { domains: { '*': 'deny' } })).toMatch(/^-32602 invalid network proxy config: /);
    expect(await failure('d', {}, { credentialMasking: true })).toMatch(/^-32602 invalid network proxy config: /);
  });
});
