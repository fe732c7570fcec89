import { type Server, STATUS_CODES } from 'node:http';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { announceListener } from '../peers/index.ts';

export interface HttpAddress {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

/** Where an HTTP server listens, and everyone connected to it. */
export class HttpPort implements AsyncDisposable {
  readonly #server: Server;
  readonly #goodbyeMs: number;
  #announced: Disposable | undefined;
  /** The server itself forgets a connection that asks to be upgraded, whatever becomes of it. */
  readonly #sockets = new Set<Socket>();
  /** Connections that have not sent the head of a request yet, the oldest first. */
  readonly #silent = new Set<Socket>();
  #closed: Promise<unknown> | undefined;

  /** Those connected have as long as `goodbyeMs` to leave when the port closes. */
  constructor(server: Server, goodbyeMs: number) {
    this.#server = server;
    this.#goodbyeMs = goodbyeMs;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      this.#await(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#silent.delete(socket);
      });
      socket.on('error', () => socket.destroy()); // a client that hangs up during an upgrade
    });
    server.on('request', ({ socket }) => this.#silent.delete(socket));
    server.on('upgrade', ({ socket }) => this.#silent.delete(socket));
    server.headersTimeout = HEADERS_MS;
  }

  async listen({ host, port }: HttpAddress): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      // Later errors are about connections that could not be accepted.
      this.#server.on('error', (error) => reject(cannotListen(error, host, port)));
      this.#server.listen({ host, port, backlog: 1024 }, resolve);
    });
    this.#announced = announceListener('work', (this.#server.address() as AddressInfo).port);
  }

  /** Its address as a URL has it. */
  get authority(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** A connection that says nothing gives way to a newer one before it keeps that out. */
  #await(socket: Socket): void {
    this.#silent.add(socket);
    if (this.#silent.size > MOST_SILENT) this.#silent.values().next().value!.destroy();
  }

  /** Takes no new connections; those there are stay. */
  stopListening(): void {
    this.#announced?.[Symbol.dispose]();
    this.#closed ??= new Promise((resolve) => this.#server.close(resolve));
  }

  /** Takes no new connections; resolves when the last one is gone, which takes as long as our patience at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stopListening();
    const patience = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.#goodbyeMs);
    await this.#closed;
    clearTimeout(patience);
  }
}

/** How long a client may take to send the head of a request. */
const HEADERS_MS = 10_000;

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const remedy = LISTEN_REMEDIES[error.code ?? ''];
  if (remedy === undefined) return error;
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return Object.assign(new Error(`cannot listen on ${address}: ${remedy} (${error.code})`, { cause: error }), {
    code: error.code,
  });
}

const LISTEN_REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program does; choose another port, or port 0 for a free one',
  EACCES: 'ports below 1024 may need privileges; choose a higher one, or port 0 for a free one',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

/** Connections may be silent at a time, whatever a listener allows besides. */
const MOST_SILENT = 256;

export interface UpgradeRefusal {
  readonly status: number;
  readonly type: 'application/json' | 'text/plain';
  readonly body: string;
}

/** Answers instead of upgrading. A client that never hangs up itself would keep the connection, so we do. */
export function refuseUpgrade(socket: Duplex, { status, type, body }: UpgradeRefusal): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
