import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Message, WireLog } from './wire-log.ts';

const unlimited = { maxPayload: 1 << 30, perMessageDeflate: false } as const;

/** Ways to make the server look different from what it is. */
export interface Disguise {
  /** Answers a request in the server's place. */
  answer?(request: Message): Message | undefined;
  /** Changes what the server sends: one message, or several, or none. */
  alter?(message: Message): Message | readonly Message[];
}

/** Stands between the client and the server, records every message, and can break the connection. */
export class WireTap implements AsyncDisposable {
  /** While true, new connections are answered with 503. */
  refusing = false;
  readonly #upstream: string;
  readonly #log: WireLog;
  readonly #disguise: Disguise;
  readonly #authorizations: (string | undefined)[] = [];
  readonly #open = new Set<WebSocket>();
  readonly #upgrader = new WebSocketServer({ noServer: true, ...unlimited });
  readonly #server = createServer();

  constructor(upstream: string, log: WireLog, disguise: Disguise = {}) {
    this.#upstream = upstream;
    this.#log = log;
    this.#disguise = disguise;
    this.#server.on('upgrade', (request, socket, head) => this.#connect(request, socket, head));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The authorization header of each connection the server accepted. */
  get authorizations(): readonly (string | undefined)[] {
    return this.#authorizations;
  }

  /** Breaks every connection without a closing handshake, as a failing network does. */
  cut(): void {
    for (const socket of this.#open) socket.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The client is let in once the server has let us in, and is refused with the server's own status. */
  #connect(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.refusing) {
      refuse(socket, 503);
      return;
    }
    const { authorization } = request.headers;
    const server = new WebSocket(this.#upstream, { ...unlimited, headers: authorization ? { authorization } : {} });
    this.#open.add(server);
    server.on('error', () => socket.destroy());
    server.on('unexpected-response', (upgrade, response) => {
      refuse(socket, response.statusCode ?? 502);
      upgrade.destroy();
    });
    server.on('open', () => {
      this.#authorizations.push(authorization);
      this.#upgrader.handleUpgrade(request, socket, head, (client) => this.#join(client, server));
    });
  }

  #join(client: WebSocket, server: WebSocket): void {
    const connection = this.#authorizations.length;
    client.on('message', (data) => {
      const request = this.#log.record(connection, 'client', String(data));
      const answer = this.#disguise.answer?.(request);
      if (!answer) return server.send(String(data));
      const text = JSON.stringify(answer);
      this.#log.record(connection, 'server', text);
      client.send(text);
    });
    server.on('message', (data) => {
      const message = this.#log.record(connection, 'server', String(data));
      if (!this.#disguise.alter) return client.send(String(data));
      for (const altered of [this.#disguise.alter(message)].flat()) client.send(JSON.stringify(altered));
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(socket);
      socket.on('error', () => socket.terminate());
      socket.on('close', () => {
        this.#open.delete(socket);
        other.terminate();
      });
    }
  }
}

function refuse(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
