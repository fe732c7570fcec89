import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type ServerKeys, TestAuthority } from '../../../test/support/test-authority.ts';
import { byteOperations } from '../../../test/support/unmask.ts';
import { deferred, Scope } from '../../base/index.ts';
import { sendNow } from '../../host/os/index.ts';
import type { NativeBytes } from './fast-path.ts';
import { WebSocketLink } from './websocket-link.ts';

const native: NativeBytes = { send: sendNow, ...byteOperations };

/** Two links over a real connection; the near one is the server's. */
async function connect(scope: Scope, options: { native: NativeBytes | undefined; tls?: ServerKeys }) {
  const http = options.tls ? createSecureServer(options.tls) : createServer();
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  scope.defer(() => void http.close());
  const { port } = http.address() as AddressInfo;
  const client = new WebSocket(`${options.tls ? 'wss' : 'ws'}://127.0.0.1:${port}`, { rejectUnauthorized: false });
  scope.defer(() => client.terminate());
  const [[accepted, request]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [
    [WebSocket, { socket: Socket }],
    unknown,
  ];
  scope.defer(() => accepted.terminate());
  return {
    client,
    rawSocket: request.socket,
    near: new WebSocketLink(accepted, { peer: '127.0.0.1:7', rawSocket: request.socket, native: options.native }),
    far: new WebSocketLink(client, { peer: 'server' }),
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

describe.each([
  ['with the fast path', native],
  ['without the fast path', undefined],
])('a WebSocket link %s', (_way, native) => {
  const connected = (scope: Scope) => connect(scope, { native });

  it('carries messages both ways and names its peer', async () => {
    await using scope = new Scope();
    const { near, far } = await connected(scope);
    const [atNear, atFar] = [deferred<string>(), deferred<string>()];
    near.open((message) => atNear.resolve(text(message)));
    far.open((message) => atFar.resolve(text(message)));

    void near.send('{"a":"\u00fc"}');
    void far.send(Buffer.from('{"b":1}'));

    expect([await atNear.promise, await atFar.promise]).toEqual(['{"b":1}', '{"a":"\u00fc"}']);
    expect(near.source).toBe('websocket JSON-RPC message from exec-server websocket 127.0.0.1:7');
  });

  it('reports no delivery once it is being destroyed', async () => {
    await using scope = new Scope();
    const { near, client } = await connected(scope);
    let delivered = false;
    client.pause();
    void near.send('{}', () => {
      delivered = true;
    });
    near.probe();
    void near.send(Buffer.alloc(64 * 1024 * 1024, ' ')); // so that it takes a while to end
    near.destroy();
    client.resume();

    await near.closed;
    expect(delivered).toBe(false);
  });

  it('sends text, also when the message is bytes', async () => {
    await using scope = new Scope();
    const { near, client } = await connected(scope);
    const received = once(client, 'message');

    void near.send(Buffer.from('{}'));

    expect((await received)[1]).toBe(false);
  });

  it('hands over no message while the receiver is busy, also of those that arrived together', async () => {
    await using scope = new Scope();
    const { near, far } = await connected(scope);
    const gates = new Map<string, ReturnType<typeof deferred<void>>>();
    const received: string[] = [];
    const all = deferred();
    far.open((message) => {
      received.push(text(message));
      if (received.length === 4) all.resolve();
      const gate = deferred();
      gates.set(text(message), gate);
      return gate.promise;
    });
    for (const message of ['a', 'b', 'c', 'd']) void near.send(message);
    while (received.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const first = [...received];
    for (const message of ['a', 'b', 'c']) {
      gates.get(message)!.resolve();
      while (!gates.has(String.fromCharCode(message.charCodeAt(0) + 1)))
        await new Promise((resolve) => setImmediate(resolve));
    }
    await all.promise;

    expect({ first, received }).toEqual({ first: ['a'], received: ['a', 'b', 'c', 'd'] });
  });

  it('keeps the order of messages that come together or apart, whenever the receiver is busy', async () => {
    const message = fc.record({ together: fc.boolean(), busyTurns: fc.constantFrom(0, 0, 1, 3) });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 30 }), async (messages) => {
        await using scope = new Scope();
        const { near, client } = await connected(scope);
        const { _socket: socket } = client as unknown as { _socket: Socket };
        const received: number[] = [];
        const all = deferred();
        let busy = false;
        let disturbed = false;
        near.open((bytes) => {
          disturbed ||= busy;
          const number = Number(text(bytes));
          if (received.push(number) === messages.length) all.resolve();
          const { busyTurns } = messages[number]!;
          if (busyTurns === 0) return;
          busy = true;
          return turns(busyTurns).then(() => {
            busy = false;
          });
        });
        for (const [number, { together }] of messages.entries()) {
          if (together) socket.cork();
          client.send(`${number}`);
          if (!together) while (socket.writableCorked > 0) socket.uncork();
          if (!together) await turns(1);
        }
        while (socket.writableCorked > 0) socket.uncork();
        await all.promise;
        expect({ received, disturbed }).toEqual({ received: messages.map((_, number) => number), disturbed: false });
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ['has sent a close frame', 0x88],
    ['has sent a frame with reserved bits', 0xf1],
  ])('hands over no message of a peer after it %s', async (_what, first) => {
    await using scope = new Scope();
    const { near, client } = await connected(scope);
    const received: string[] = [];
    near.open((message) => void received.push(text(message)));
    const { _socket: socket } = client as unknown as { _socket: Socket };

    client.send('good');
    while (received.length === 0) await turns(1);
    socket.write(Buffer.from([first, 0x80, 0, 0, 0, 0]));
    await turns(1);
    socket.write(Buffer.from([0x81, 0x83, 0, 0, 0, 0, ...Buffer.from('bad')]));
    await near.closed;

    expect(received).toEqual(['good']);
  });

  it('reports a delivery when its peer has confirmed it', async () => {
    await using scope = new Scope();
    const { near, far } = await connected(scope);
    const delivered = deferred();
    far.open(() => {});

    void near.send('a', delivered.resolve);
    near.probe();

    await delivered.promise;
  });

  it('sends what is queued when it is destroyed, without a close frame', async () => {
    await using scope = new Scope();
    const { near, client } = await connected(scope);
    const received = once(client, 'message');
    const closed = once(client, 'close');

    void near.send('last word');
    near.destroy();

    expect([String((await received)[0]), (await closed)[0]]).toEqual(['last word', 1006]);
    await near.closed;
    expect(near.send('late')).toBeUndefined();
  });

  it('ends with a close frame when it is closed', async () => {
    await using scope = new Scope();
    const { near, client } = await connected(scope);
    const closed = once(client, 'close');

    near.close();

    expect((await closed)[0]).toBe(1005);
    await near.closed;
  });
});

describe('a WebSocket link', () => {
  it('uses the fast path on a plain socket only: on TLS every byte is encrypted', async () => {
    await using scope = new Scope();
    const authority = scope.own(new TestAuthority());
    const plain = await connect(scope, { native });
    const secure = await connect(scope, { native, tls: authority.issue('IP:127.0.0.1') });
    for (const { near } of [plain, secure]) near.open((message) => near.send(`answer to ${text(message)}`));

    const large = 'x'.repeat(200_000);
    const answers: string[] = [];
    for (const message of ['a question', large]) {
      secure.client.send(message);
      answers.push(String((await once(secure.client, 'message'))[0]));
    }

    expect(answers).toEqual(['answer to a question', `answer to ${large}`]);
    expect([plain, secure].map(({ rawSocket }) => Object.hasOwn(rawSocket, 'push'))).toEqual([true, false]);
  });

  it('ends the connection to a peer that does not answer pings', async () => {
    await using scope = new Scope();
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, autoPong: false });
    scope.defer(() => new Promise((resolve) => server.close(() => resolve())));
    await once(server, 'listening');
    const silent = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await once(silent, 'open');

    const link = new WebSocketLink(silent, { peer: 'silent', pingIntervalMs: 5 });

    await link.closed;
    expect(silent.readyState).toBe(WebSocket.CLOSED);
  });
});
