import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Login, Logins } from '../access/index.ts';
import { faultFields, type Logger } from '../base/index.ts';
import { HttpPort, refuseUpgrade } from '../host/http/index.ts';
import { type PeerProof, refusePeer, refuseUnixPeer } from '../host/peers/index.ts';
import type { Link } from '../rpc/index.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { ListenAddress } from './listen-url.ts';
import type { ServerCounters } from './ops/server-counters.ts';
import { createTlsServer, type TlsIdentity } from './tls-identity.ts';
import { type Admission, type Admitted, authenticate } from './websocket-auth.ts';

export interface WebSocketListenerOptions {
  readonly address: Exclude<ListenAddress, { type: 'stdio' }>;
  /** For an address that speaks TLS. */
  readonly tls?: TlsIdentity | undefined;
  /** A user besides the server's own whose programs are served on a Unix socket; read for every connection. */
  readonly unixPeer: () => number | undefined;
  /** Read for every connection, since it can change. */
  readonly admission: () => Admission;
  /** Those of the open connections. */
  readonly logins: Logins;
  readonly maxConnections: number;
  /** Whether messages may go past `ws` and Node's streams; read for every connection. */
  readonly fastPath: () => boolean;
  /** Resolves with the receiver of the links once the server is ready. */
  readonly receiver: () => Promise<(link: Link, login: Login) => void>;
  readonly log: Logger;
  readonly audit: AuditLog;
  readonly counters: ServerCounters;
}

interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** The answer to a client that is turned away, and what it was judged by. */
interface Refusal extends HttpAnswer {
  readonly by: keyof ServerCounters['refusedLogins'];
  /** The token that was presented, if it is known and has a name. */
  readonly tokenName?: string | undefined;
}

/** Accepts WebSocket connections on `/` and answers readiness probes on `/readyz`. */
export class WebSocketListener implements AsyncDisposable {
  readonly #options: WebSocketListenerOptions;
  readonly #http: HttpServer | HttpsServer;
  readonly #port: HttpPort;
  readonly #links = new Set<Link>();
  /** Upgrade requests that are being examined. */
  #opening = 0;
  maxConnections: number;

  private constructor(options: WebSocketListenerOptions) {
    this.#options = options;
    this.maxConnections = options.maxConnections;
    const http = options.tls ? createTlsServer(options.tls, HTTP_OPTIONS) : createServer(HTTP_OPTIONS);
    http.on('request', (request, response) => {
      const { status, body } = answerTo(request, false) ?? { status: 404, body: '' };
      response.writeHead(status, { 'content-type': 'text/plain', 'content-length': body.length, connection: 'close' });
      response.end(body);
    });
    http.on('upgrade', (request, socket, head) => {
      this.#opening++;
      this.#upgrade(request, socket, head)
        .catch((error) => {
          this.#failed(error);
          socket.destroy();
        })
        .finally(() => this.#opening--);
    });
    this.#http = http;
    this.#port = new HttpPort(http, CLOSE_MS);
  }

  static async listen(options: WebSocketListenerOptions): Promise<WebSocketListener> {
    const listener = new WebSocketListener(options);
    const { address, unixPeer } = options;
    await listener.#port.listen(address.type === 'unix' ? { path: address.path, user: unixPeer() } : address);
    return listener;
  }

  get url(): string {
    const { path } = this.#port;
    if (path !== undefined) return `unix:${path}`;
    return `${this.#options.tls ? 'wss' : 'ws'}://${this.#port.authority}`;
  }

  /** The address of its port; undefined for a Unix socket. */
  get host(): string | undefined {
    return this.#port.host;
  }

  get path(): string | undefined {
    return this.#port.path;
  }

  /** Presents another certificate to clients that connect from now on. Connections that are open keep theirs. */
  replaceTls({ certificate: cert, key }: TlsIdentity): void {
    if ('setSecureContext' in this.#http) this.#http.setSecureContext({ cert, key });
  }

  /** Accepts no more connections and serves the open ones. */
  stopListening(): void {
    this.#port.stopListening();
  }

  /** Accepts no more connections and closes the open ones with 1001. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { GOING_AWAY, SERVER_STOPPING } = await import('../protocol/index.ts'); // not needed to open the port
    for (const link of this.#links) link.close({ code: GOING_AWAY, reason: SERVER_STOPPING });
    await this.#port[Symbol.asyncDispose]();
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const answer = answerTo(request, true);
    if (answer) return refuseUpgrade(socket, { ...answer, type: 'text/plain' });
    const peer = peerName(socket as Socket);
    const admitted = this.#refusedWhenFull() ?? (await this.#admit(request, socket as Socket));
    if ('by' in admitted) {
      this.#recordRefusal(peer, admitted);
      return refuseUpgrade(socket, { ...admitted, type: 'text/plain' });
    }
    this.#recordLogin(peer, admitted);
    // Not needed to open the port. Nothing may be read before the receiver is there.
    const [{ acceptWebSocket }, take] = await Promise.all([import('./accept-websocket.ts'), this.#options.receiver()]);
    const options = { peer, fastPath: this.#options.fastPath(), onFault: (error: unknown) => this.#failed(error) };
    acceptWebSocket(request, socket as Socket, head, options, (link) => {
      const { logins } = this.#options;
      const login = logins.open(admitted.granted);
      this.#links.add(link);
      void link.closed.then(() => {
        this.#links.delete(link);
        logins.close(login);
      });
      take(link, login);
    });
  }

  async #peerRefusal(socket: Socket, proof: PeerProof): Promise<string | undefined> {
    const { unixPeer } = this.#options;
    if (this.#port.path === undefined) return refusePeer(socket, proof);
    const { descriptorOf } = await import('../link/index.ts'); // not needed to open the port
    const users = new Set([process.geteuid!(), unixPeer() ?? process.geteuid!()]);
    return refuseUnixPeer(socket, descriptorOf(socket), users, proof);
  }

  #recordLogin(peer: string, { granted }: Admitted): void {
    const { log, audit } = this.#options;
    const tokenName = granted()?.tokenName;
    log.info('login.accepted', { peer, tokenName });
    audit.with({ peer, tokenName }).record({ event: 'login.accepted' });
  }

  #recordRefusal(peer: string, { by, body: reason, tokenName }: Refusal): void {
    const { log, audit, counters } = this.#options;
    counters.refusedLogins[by]++;
    log.info('login.refused', { peer, reason, tokenName });
    audit.with({ peer, tokenName }).record({ event: 'login.refused', reason });
  }

  #refusedWhenFull(): Refusal | undefined {
    if (this.#links.size + this.#opening <= this.maxConnections) return undefined;
    return {
      by: 'full',
      status: 503,
      body: `${this.maxConnections} connections are open, as many as --max-connections allows`,
    };
  }

  #failed(error: unknown): void {
    this.#options.log.error('connection.failed', faultFields(error));
  }

  /** The process at the other end is looked up after authentication, so that strangers cannot cause a search of `/proc`. */
  async #admit({ headers }: IncomingMessage, socket: Socket): Promise<Admitted | Refusal> {
    const answer = await authenticate(this.#options.admission(), headers.authorization);
    if (answer.type === 'refused') {
      return { by: 'token', status: 401, body: answer.reason, tokenName: answer.tokenName };
    }
    const body = await this.#peerRefusal(socket, answer.proof);
    return body === undefined ? answer : { by: 'peer', status: 403, body, tokenName: answer.granted()?.tokenName };
  }
}

const HTTP_OPTIONS = {
  noDelay: true,
  /** How often connections are checked for a request head that takes too long. */
  connectionsCheckingInterval: 5000,
  /** How long a client may take for the handshake of TLS. */
  handshakeTimeout: 10_000,
};

/** How long connected clients may take to answer a close frame. */
const CLOSE_MS = 500;

/** The address of a client, for logs; clients of a Unix socket have none. */
function peerName({ remoteAddress, remotePort }: Socket): string {
  return remoteAddress === undefined ? 'unix socket' : `${remoteAddress}:${remotePort}`;
}

/** The plain HTTP answer to a request, or undefined for an upgrade request that may continue. */
function answerTo(request: IncomingMessage, upgrading: boolean): HttpAnswer | undefined {
  const { headers, method, url = '/' } = request;
  const path = url.split('?', 1)[0];
  // Browsers always send Origin; a page must not reach a shell.
  if (headers.origin !== undefined) return { status: 403, body: '' };
  if (path === '/readyz') return method === 'GET' ? { status: 200, body: '' } : { status: 405, body: '' };
  if (path !== '/') return { status: 404, body: '' };
  if (method !== 'GET') return { status: 405, body: '' };
  if (!upgrading) return { status: 400, body: "Connection header did not include 'upgrade'" };
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    return { status: 400, body: "`Upgrade` header did not include 'websocket'" };
  }
  if (headers['sec-websocket-version'] !== '13') {
    return { status: 400, body: "`Sec-WebSocket-Version` header did not include '13'" };
  }
  if (!headers['sec-websocket-key']) return { status: 400, body: '`Sec-WebSocket-Key` header missing' };
  return undefined;
}
