import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** An HTTP server on a free port, of loopback unless told otherwise, that counts its connections. */
export class HttpUpstream implements AsyncDisposable {
  readonly sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  static async start(listener: RequestListener, address = '127.0.0.1'): Promise<HttpUpstream> {
    const server = createServer(listener);
    server.listen(0, address);
    await once(server, 'listening');
    return new HttpUpstream(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    for (const socket of this.sockets) socket.destroy();
  }
}
