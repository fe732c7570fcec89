import { type Server as HttpServer, STATUS_CODES } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { announceListener, announceSocketFile } from '../peers/index.ts';
import { type InheritedSocket, listenOnInherited } from './inherited-socket.ts';
import { listenOnPath, type SocketPath } from './socket-path.ts';

export interface HttpAddress {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

/** The listening socket of an HTTP or HTTPS server, and all its connections. */
export class HttpPort implements AsyncDisposable {
  readonly #server: HttpServer | HttpsServer;
  readonly #closeMs: number;
  #announced: Disposable | undefined;
  /** All connections: Node's server forgets one that asks to be upgraded. */
  readonly #sockets = new Set<Socket>();
  /** Connections that have not sent the head of a request yet, the oldest first, by their peer: with TLS a request has another socket. */
  readonly #silent = new Map<unknown, Socket>();
  #closed: Promise<unknown> | undefined;
  #path: string | undefined;
  /** The file of a Unix socket that this port has made. */
  #file: Disposable | undefined;

  /** When the port is disposed, clients have `closeMs` to close their connections. */
  constructor(server: HttpServer | HttpsServer, closeMs: number) {
    this.#server = server;
    this.#closeMs = closeMs;
    server.on('connection', (socket) => {
      const peer = peerOf(socket);
      this.#sockets.add(socket);
      this.#silent.set(peer, socket);
      this.#limitSilent();
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#silent.delete(peer);
      });
      socket.on('error', () => socket.destroy()); // the client closed the connection during an upgrade
    });
    server.on('request', ({ socket }) => this.#silent.delete(peerOf(socket)));
    server.on('upgrade', ({ socket }) => this.#silent.delete(peerOf(socket)));
    server.on('tlsClientError', (_, socket) => socket.destroy());
    server.headersTimeout = HEADERS_MS;
  }

  async listen(address: HttpAddress | SocketPath | InheritedSocket): Promise<void> {
    const path = await this.#listenAt(address);
    // From now on an error is about a connection that could not be accepted.
    this.#server.on('error', () => {});
    this.#path = path;
    this.#announced =
      path === undefined
        ? announceListener('work', (this.#server.address() as AddressInfo).port)
        : announceSocketFile(path);
  }

  /** Gives the path of a Unix socket. */
  async #listenAt(address: HttpAddress | SocketPath | InheritedSocket): Promise<string | undefined> {
    if ('descriptor' in address) return await listenOnInherited(this.#server, address);
    if ('path' in address) this.#file = await listenOnPath(this.#server, address);
    else await this.#listenOnPort(address);
    return 'path' in address ? address.path : undefined;
  }

  #listenOnPort({ host, port }: HttpAddress): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => reject(cannotListen(error, host, port)));
      this.#server.listen({ host, port, backlog: 1024 }, resolve);
    });
  }

  /** The path of a Unix socket; undefined for a port. */
  get path(): string | undefined {
    return this.#path;
  }

  /** The address of a port; undefined for a Unix socket. */
  get host(): string | undefined {
    const bound = this.#server.address();
    return bound !== null && typeof bound === 'object' ? bound.address : undefined;
  }

  /** The host and port, as in a URL. */
  get authority(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Closes the oldest connection without a request when there are too many, so that they do not keep new clients out. */
  #limitSilent(): void {
    if (this.#silent.size > MOST_SILENT) this.#silent.values().next().value!.destroy();
  }

  /** Accepts no new connections, and keeps the others. */
  stopListening(): void {
    this.#announced?.[Symbol.dispose]();
    this.#file?.[Symbol.dispose]();
    this.#file = undefined;
    this.#closed ??= new Promise((resolve) => this.#server.close(resolve));
  }

  /** Accepts no new connections, and resolves when the last one is closed, which this server does after `closeMs`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stopListening();
    const overdue = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.#closeMs);
    await this.#closed;
    clearTimeout(overdue);
  }
}

/** How long a client may take to send the head of a request. */
export const HEADERS_MS = 10_000;

/** The address of a peer, or the socket itself where peers have none: on a Unix socket. */
function peerOf(socket: Socket): unknown {
  const { remoteAddress, remotePort } = socket;
  return remotePort === undefined ? socket : `${remoteAddress} ${remotePort}`;
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const remedy = LISTEN_REMEDIES[error.code ?? ''];
  if (remedy === undefined) return error;
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return Object.assign(new Error(`cannot listen on ${address}: ${remedy} (${error.code})`, { cause: error }), {
    code: error.code,
  });
}

const LISTEN_REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; choose another port, or port 0 for a free one',
  EACCES: 'ports below 1024 may need privileges; choose a higher one, or port 0 for a free one',
  EADDRNOTAVAIL: 'this machine does not have the address',
};

/** The most connections without a request, in addition to the limits of a listener. */
const MOST_SILENT = 256;

export interface UpgradeRefusal {
  readonly status: number;
  readonly type: 'application/json' | 'text/plain';
  readonly body: string;
}

/** Answers instead of upgrading, and closes the connection, as some clients do not. */
export function refuseUpgrade(socket: Duplex, { status, type, body }: UpgradeRefusal): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
