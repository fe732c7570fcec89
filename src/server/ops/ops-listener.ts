import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { faultFields, type Logger } from '../../base/index.ts';
import { HttpPort } from '../../host/http/index.ts';
import { secretPaths } from '../../host/own/index.ts';
import { refusePeer, refuseUnixPeer } from '../../host/peers/index.ts';
import { isLoopback } from '../listen-url.ts';
import { type Admission, authenticate } from '../websocket-auth.ts';
import { METRICS_TYPE } from './exposition.ts';
import type { OpsAddress } from './ops-address.ts';

export interface OpsListenerOptions {
  readonly address: OpsAddress;
  /** A user besides the server's own who may connect to a Unix socket. */
  readonly unixPeer: number | undefined;
  /** Decides, beyond loopback, who may see the metrics. */
  readonly admission: () => Admission;
  readonly isStopping: () => boolean;
  /** The metrics in the text format of Prometheus. */
  readonly metrics: () => Promise<string>;
  readonly log: Logger;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Tells an operator's programs how the server is, on a port of its own: `/healthz` and `/metrics`. */
export class OpsListener implements AsyncDisposable {
  readonly #options: OpsListenerOptions;
  readonly #port: HttpPort;

  private constructor(options: OpsListenerOptions) {
    this.#options = options;
    const http = createServer((request, response) => {
      this.#answer(request)
        .catch((error): Answer => {
          options.log.error('ops.failed', faultFields(error));
          return { status: 500, body: 'the log of the server says why\n' };
        })
        .then((answer) => send(response, answer, request.method === 'HEAD'));
    });
    http.maxConnections = MOST_CONNECTIONS;
    this.#port = new HttpPort(http, CLOSE_MS);
  }

  static async listen(options: OpsListenerOptions): Promise<OpsListener> {
    const { address, unixPeer } = options;
    const listener = new OpsListener(options);
    await listener.#port.listen(address.type === 'unix' ? { path: address.path, user: unixPeer } : address);
    secretPaths.add(listener.#port.path);
    options.log.info('ops.listening', { url: listener.url });
    return listener;
  }

  get url(): string {
    const { path } = this.#port;
    return path === undefined ? `http://${this.#port.authority}` : `unix:${path}`;
  }

  /** Whether programs of other machines can connect. */
  get isPublic(): boolean {
    const { host } = this.#port;
    return host !== undefined && !isLoopback(host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#port[Symbol.asyncDispose]();
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { headers, method, url = '/' } = request;
    // Browsers send Origin when a page asks, and no page has to know how this machine is.
    if (headers.origin !== undefined) return { status: 403, body: '' };
    const path = url.split('?', 1)[0];
    if (path !== '/healthz' && path !== '/metrics') return { status: 404, body: 'there are /healthz and /metrics\n' };
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: '', headers: { allow: 'GET, HEAD' } };
    const refusal = await this.#refusedPeer(request.socket);
    if (refusal !== undefined) return { status: 403, body: `${refusal}\n` };
    return path === '/healthz' ? this.#health() : await this.#metrics(headers.authorization);
  }

  #health(): Answer {
    return this.#options.isStopping() ? { status: 503, body: 'stopping\n' } : { status: 200, body: 'ok\n' };
  }

  async #metrics(authorization: string | undefined): Promise<Answer> {
    const refusal = this.isPublic ? await this.#unauthorized(authorization) : undefined;
    return refusal ?? { status: 200, body: await this.#options.metrics(), headers: { 'content-type': METRICS_TYPE } };
  }

  async #unauthorized(authorization: string | undefined): Promise<Answer | undefined> {
    const answer = await authenticate(this.#options.admission(), authorization);
    if (answer.type === 'refused') {
      return { status: 401, body: `${answer.reason}\n`, headers: { 'www-authenticate': 'Bearer' } };
    }
    if (answer.granted()?.scopes.has('view')) return undefined;
    return { status: 403, body: 'the token has not the scope view\n' };
  }

  /**
   * Programs of any user may look, as those that collect metrics have a user of their own; only sandboxed commands may not. A token
   * as proof means just that.
   */
  async #refusedPeer(socket: Socket): Promise<string | undefined> {
    if (this.#port.path === undefined) return await refusePeer(socket, 'token');
    const { descriptorOf } = await import('../../link/index.ts'); // only a Unix socket needs it
    return await refuseUnixPeer(socket, descriptorOf(socket), new Set(), 'token');
  }
}

/** A connection is for one answer: one that is kept open would count among those that ask nothing, and be closed by none. */
function send(response: ServerResponse, { status, body, headers }: Answer, withoutBody: boolean): void {
  const length = Buffer.byteLength(body);
  const usual = {
    'content-type': 'text/plain',
    'cache-control': 'no-store',
    'content-length': length,
    connection: 'close',
  };
  response.writeHead(status, { ...usual, ...headers });
  response.end(withoutBody ? '' : body);
}

/** More than `HttpPort` leaves without a request, so that connections that ask nothing keep no probe out. */
const MOST_CONNECTIONS = 512;
const CLOSE_MS = 200;
