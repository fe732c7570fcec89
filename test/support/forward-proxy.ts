import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { ServerKeys } from './test-authority.ts';

/** An HTTP proxy on loopback that remembers what it was asked, and leads every tunnel to one port of this machine. */
export class ForwardProxy implements AsyncDisposable {
  /** Request lines, with the credentials that came along. */
  readonly asked: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  readonly #scheme: string;

  private constructor(target: number, keys: ServerKeys | undefined) {
    const answer: RequestListener = (incoming, outgoing) => {
      const { method, url, headers } = incoming;
      this.#note(`${method} ${url}`, headers['proxy-authorization']);
      incoming.resume().on('end', () => outgoing.end(`proxied ${url} for ${headers.host}`));
    };
    this.#server = keys ? createSecureServer(keys, answer) : createServer(answer);
    this.#scheme = keys ? 'https' : 'http';
    this.#server.on('connection', (socket: Socket) => this.#own(socket));
    this.#server.on('connect', ({ url, headers }, socket: Socket, head: Buffer) => {
      this.#note(`CONNECT ${url}`, headers['proxy-authorization']);
      const beyond = this.#own(connect(target, '127.0.0.1'));
      beyond.once('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        beyond.write(head);
        socket.pipe(beyond).pipe(socket);
      });
    });
  }

  /** With keys it is spoken to by TLS. */
  static async start(target: number, keys?: ServerKeys): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(target, keys);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #note(line: string, authorization: string | undefined): void {
    this.asked.push(authorization === undefined ? line : `${line} ${authorization}`);
  }

  #own(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}
