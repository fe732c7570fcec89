import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../base/index.ts';
import type { HttpAnswer } from './http-api.ts';
import { Refusal } from './refusal.ts';

export interface HttpListenerOptions {
  readonly host: string;
  readonly port: number;
  /** In front of every path, when a proxy leaves it there. */
  readonly basePath: string;
  readonly log: Logger;
  answer(request: IncomingMessage, path: string): Promise<HttpAnswer>;
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, url: URL): Promise<void>;
}

/** The port everything comes in by. */
export class HttpListener implements AsyncDisposable {
  readonly #options: HttpListenerOptions;
  readonly #http: Server;
  /** The HTTP server forgets a connection that asks to be upgraded, whatever becomes of it. */
  readonly #upgrading = new Set<Socket>();

  private constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#http = createServer({ noDelay: true, headersTimeout: 10_000, requestTimeout: 20_000 });
    this.#http.on('request', (request, response) => void this.#request(request, response));
    this.#http.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
  }

  static async listen(options: HttpListenerOptions): Promise<HttpListener> {
    const listener = new HttpListener(options);
    await new Promise<void>((resolve, reject) => {
      listener.#http.once('error', reject);
      listener.#http.listen({ host: options.host, port: options.port, backlog: 1024 }, resolve);
    });
    return listener;
  }

  get url(): string {
    const { address, port, family } = this.#http.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Takes no new connections; resolves when the last one is gone, which takes as long as our patience at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#http.close(resolve));
    this.#http.closeIdleConnections();
    const patience = setTimeout(() => {
      this.#http.closeAllConnections();
      for (const socket of this.#upgrading) socket.destroy();
    }, GOODBYE_MS);
    await closed;
    clearTimeout(patience);
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#options.answer(request, this.#urlOf(request).pathname).catch((error: Error) => {
      this.#options.log.error('request.failed', { error: error.message });
      return { status: 500 };
    });
    const { status, body, text, headers } = answer as HttpAnswer;
    const content = text ?? (body === undefined ? '' : JSON.stringify(body));
    const type = text === undefined ? 'application/json' : 'text/plain; version=0.0.4; charset=utf-8';
    response.writeHead(status, {
      // A connection that a client keeps dies with this node just when it asks where to go instead; the reference gives up then.
      connection: 'close',
      ...(content !== '' && { 'content-type': type }),
      'content-length': Buffer.byteLength(content),
      ...headers,
    });
    response.end(content);
  }

  async #upgrade(request: IncomingMessage, duplex: Duplex, head: Buffer): Promise<void> {
    const socket = duplex as Socket;
    this.#upgrading.add(socket);
    socket.once('close', () => this.#upgrading.delete(socket));
    socket.on('error', () => socket.destroy()); // a client that hangs up during the handshake
    try {
      await this.#options.upgrade(request, socket, head, this.#urlOf(request));
    } catch (error) {
      if (!(error instanceof Refusal)) this.#options.log.warn('upgrade.failed', { error: (error as Error).message });
      refuse(socket, error instanceof Refusal ? error : new Refusal(503, 'unavailable', 'cannot be answered now'));
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

/** How long answers under way may take when the service stops. */
const GOODBYE_MS = 1500;

/** Does not wait for the client to hang up as well: one that never does would keep the connection. */
function refuse(socket: Socket, { status, code, message }: Refusal): void {
  socket.once('finish', () => socket.destroy());
  const body = JSON.stringify({ error: { code, message } });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
