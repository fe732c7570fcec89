import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { faultFields, type Logger } from '../../../base/index.ts';
import { HttpPort, refuseUpgrade } from '../../../host/http/index.ts';
import { refusePeer } from '../../../host/peers/index.ts';
import { httpLimits } from '../limits.ts';
import { HttpRefusal } from './http-refusal.ts';
import type { HttpAnswer } from './routes.ts';

export interface HttpListenerOptions {
  readonly host: string;
  readonly port: number;
  /** A proxy in front of the service may leave this prefix on every path. */
  readonly basePath: string;
  readonly log: Logger;
  answer(request: IncomingMessage, path: string): Promise<HttpAnswer>;
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, url: URL): Promise<void>;
}

/** The port of the service: requests to the registry and upgrades to sockets. */
export class HttpListener implements AsyncDisposable {
  readonly #options: HttpListenerOptions;
  readonly #port: HttpPort;

  private constructor(options: HttpListenerOptions) {
    this.#options = options;
    const http = createServer({
      noDelay: true,
      headersTimeout: httpLimits.headersMs,
      requestTimeout: httpLimits.requestMs,
    });
    http.on('request', (request, response) => void this.#request(request, response));
    http.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
    this.#port = new HttpPort(http, httpLimits.closeMs);
  }

  static async listen(options: HttpListenerOptions): Promise<HttpListener> {
    const listener = new HttpListener(options);
    await listener.#port.listen(options);
    return listener;
  }

  get url(): string {
    return `http://${this.#port.authority}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#port[Symbol.asyncDispose]();
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#answer(request).catch((error: Error) => {
      this.#options.log.error('request.failed', faultFields(error));
      return { status: 500 };
    });
    const { status, body, text, headers } = answer as HttpAnswer;
    const content = text ?? (body === undefined ? '' : JSON.stringify(body));
    const type = text === undefined ? 'application/json' : 'text/plain; version=0.0.4; charset=utf-8';
    response.writeHead(status, {
      // A kept connection would break with this node, just when its client asks where to go instead; the reference gives up then.
      connection: 'close',
      ...(content !== '' && { 'content-type': type }),
      'content-length': Buffer.byteLength(content),
      ...headers,
    });
    response.end(content);
  }

  async #answer(request: IncomingMessage): Promise<HttpAnswer> {
    const path = this.#urlOf(request).pathname;
    const refusal = STATUS_PATHS.has(path) ? undefined : await refusePeer(request.socket, 'token');
    if (refusal !== undefined) return { status: 403, body: { error: { code: 'forbidden', message: refusal } } };
    return this.#options.answer(request, path);
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      const refusal = await refusePeer(socket as Socket, 'token');
      if (refusal !== undefined) throw new HttpRefusal(403, 'forbidden', refusal);
      await this.#options.upgrade(request, socket as Socket, head, this.#urlOf(request));
    } catch (error) {
      if (!(error instanceof HttpRefusal)) this.#options.log.warn('upgrade.failed', faultFields(error));
      const refusal =
        error instanceof HttpRefusal ? error : new HttpRefusal(503, 'unavailable', 'the service cannot answer now');
      const { status, code, message } = refusal;
      refuseUpgrade(socket, { status, type: 'application/json', body: JSON.stringify({ error: { code, message } }) });
    }
  }

  #urlOf({ url = '/' }: IncomingMessage): URL {
    const { basePath } = this.#options;
    const parsed = new URL(`http://rendezvous${url.startsWith('/') ? url : `/${url}`}`);
    if (basePath !== '' && parsed.pathname.startsWith(`${basePath}/`)) {
      parsed.pathname = parsed.pathname.slice(basePath.length);
    }
    return parsed;
  }
}

/** Answers on these paths contain nothing secret, so every process may ask for them. */
const STATUS_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);
