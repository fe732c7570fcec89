import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { Scope, silentLogger } from '../../../src/base/index.ts';
import { runDirectEnvironment } from '../../../src/relay/remote/index.ts';
import { openConnectionPoint } from '../../../src/server/index.ts';
import { testHost } from '../../support/host.ts';
import { InstantClock } from '../../support/remote-fixture.ts';

const aws = {
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
  scope: { region: 'us-east-1', service: 'execute-api' },
};

interface Seen {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
}

/** A registry that drives executors itself, over the websockets they open. */
class DirectRegistry implements AsyncDisposable {
  readonly registrations: Seen[] = [];
  readonly upgrades: Seen[] = [];
  answer: (usual: Record<string, string>) => Record<string, string> = (usual) => usual;
  refuse: () => number | undefined = () => undefined;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #http = createServer(async (request, response) => {
    this.registrations.push({ url: request.url, headers: request.headers, body: JSON.parse(await text(request)) });
    const url = `${this.url.replace('http', 'ws')}/direct?x=1`;
    const usual = { environment_id: 'env', registration_id: 'r1', transport: 'direct_jsonrpc_v1', url };
    response.end(JSON.stringify(this.answer(usual)));
  });

  static async start(): Promise<DirectRegistry> {
    const registry = new DirectRegistry();
    registry.#http.on('upgrade', (request, socket, head) => {
      registry.upgrades.push({ url: request.url, headers: request.headers });
      const status = registry.refuse();
      if (status !== undefined) socket.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      else registry.#sockets.handleUpgrade(request, socket, head, (ws) => registry.#sockets.emit('connection', ws));
    });
    await new Promise<void>((resolve) => registry.#http.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  async connection(): Promise<WebSocket> {
    const [ws] = (await once(this.#sockets, 'connection')) as [WebSocket];
    return ws;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.close();
    for (const ws of this.#sockets.clients) ws.terminate();
    this.#http.closeAllConnections();
  }
}

async function serveDirectly(registry: DirectRegistry, scope: Scope) {
  const stop = new AbortController();
  const clock = new InstantClock();
  const point = scope.own(await openConnectionPoint({ host: testHost(), log: silentLogger }));
  const running = runDirectEnvironment(
    {
      registryUrl: registry.url,
      environmentId: 'env',
      aws,
      accept: (link) => point.connect(link, { resumable: true }),
      clock,
      log: silentLogger,
    },
    stop.signal,
  );
  scope.defer(async () => {
    stop.abort();
    await running.catch(() => {}); // judged by the test
  });
  return { clock, running };
}

describe('the direct transport', () => {
  it('registers with a signature and answers the client at the other end', async () => {
    await using registry = await DirectRegistry.start();
    await using scope = new Scope();
    const connected = registry.connection();
    await serveDirectly(registry, scope);
    const ws = await connected;

    ws.send('{"id":1,"method":"initialize","params":{"clientName":"registry"}}');
    const [answer, isBinary] = (await once(ws, 'message')) as [Buffer, boolean];

    expect(JSON.parse(answer.toString())).toMatchObject({ id: 1, result: { sessionId: expect.any(String) } });
    expect(isBinary).toBe(false);
    const signed = (names: string): RegExp =>
      new RegExp(
        `^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\\d{8}/us-east-1/execute-api/aws4_request, SignedHeaders=${names}, Signature=[0-9a-f]{64}$`,
      );
    expect(registry.registrations).toEqual([
      {
        url: '/cloud/environment/env/direct/register',
        headers: expect.objectContaining({
          authorization: expect.stringMatching(signed('content-type;host;x-amz-date')),
        }),
        body: { transport: 'direct_jsonrpc_v1' },
      },
    ]);
    expect(registry.upgrades).toEqual([
      {
        url: '/direct?x=1',
        headers: expect.objectContaining({ authorization: expect.stringMatching(signed('host;x-amz-date')) }),
      },
    ]);
  });

  it('connects again to the same address', async () => {
    await using registry = await DirectRegistry.start();
    await using scope = new Scope();
    registry.refuse = () => (registry.upgrades.length <= 2 ? 503 : undefined);
    const connected = registry.connection();
    const { clock } = await serveDirectly(registry, scope);
    const again = connected.then((ws) => {
      const next = registry.connection();
      ws.close(1001);
      return next;
    });
    await again;

    expect([registry.registrations.length, registry.upgrades.length]).toEqual([1, 4]);
    expect(clock.waits).toEqual([1000, 2000, 4000]);
  });

  it.each([
    [{ environment_id: 'other' }, 'environment registry returned a different environment id'],
    [{ transport: 'noise' }, 'environment registry returned an unsupported transport'],
    [{ url: 'nowhere' }, 'environment registry returned incomplete direct connection data'],
    [{ url: 'ws://registry.example/' }, 'environment registry returned a direct connection without TLS'],
  ])('is refused with %j', async (change, reason) => {
    await using registry = await DirectRegistry.start();
    await using scope = new Scope();
    registry.answer = (usual) => ({ ...usual, ...change });

    const { running } = await serveDirectly(registry, scope);

    await expect(running).rejects.toThrow(reason);
  });
});
