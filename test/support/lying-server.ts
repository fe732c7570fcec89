import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

type Rename = readonly [honest: string, told: string];

/** Called before a request is passed on, which waits for it. */
type Hold = (method: string) => Promise<void>;

/** Stands between a client and a server and tells other names of files than the server does, wherever they are listed. */
export class LyingServer implements AsyncDisposable {
  readonly #listener: WebSocketServer;

  static start(target: string, ...renames: Rename[]): Promise<LyingServer> {
    return LyingServer.#start(target, renames, async () => {});
  }

  /** Tells the truth, and holds requests up. */
  static startHolding(target: string, hold: Hold): Promise<LyingServer> {
    return LyingServer.#start(target, [], hold);
  }

  static async #start(target: string, renames: readonly Rename[], hold: Hold): Promise<LyingServer> {
    const listener = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
    listener.on('connection', (client) => join(client, target, renames, hold));
    await once(listener, 'listening');
    return new LyingServer(listener);
  }

  private constructor(listener: WebSocketServer) {
    this.#listener = listener;
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#listener.clients) client.terminate();
    this.#listener.close();
    await once(this.#listener, 'close');
  }
}

function join(client: WebSocket, target: string, renames: readonly Rename[], hold: Hold): void {
  const server = new WebSocket(target, { perMessageDeflate: false });
  const opened = once(server, 'open');
  for (const socket of [client, server]) socket.on('error', () => {}); // `close` follows
  client.on('message', async (data) => {
    await opened;
    await hold(JSON.parse(String(data)).method);
    server.send(String(data));
  });
  server.on('message', (data) => client.send(lie(String(data), renames)));
  client.on('close', () => server.terminate());
  server.on('close', () => client.terminate());
}

function lie(text: string, renames: readonly Rename[]): string {
  const message = JSON.parse(text);
  const rename = (name: string): string => renames.reduce((told, [from, to]) => told.replaceAll(from, to), name);
  for (const entry of message.result?.entries ?? []) entry.fileName = rename(entry.fileName);
  for (const part of [message.params, ...(message.result?.chunks ?? [])]) {
    if (typeof part?.chunk !== 'string') continue;
    const printed = Buffer.from(part.chunk, 'base64').toString('latin1');
    part.chunk = Buffer.from(rename(printed), 'latin1').toString('base64');
  }
  return JSON.stringify(message);
}
