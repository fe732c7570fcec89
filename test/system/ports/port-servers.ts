import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from 'node:net';

/** A program on a port of this machine: accepts connections, which may be half closed. */
export class PortServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async listen(
    serve: (socket: Socket) => void,
    where: ListenOptions = { port: 0, host: '127.0.0.1' },
  ): Promise<PortServer> {
    const server = new PortServer(serve);
    server.#server.listen(where);
    await once(server.#server, 'listening');
    return server;
  }

  private constructor(serve: (socket: Socket) => void) {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy()).once('close', () => this.#sockets.delete(socket));
      serve(socket);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** Everything that arrives; the socket stays open for sending. */
export function textOf(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  return once(socket, 'end').then(() => Buffer.concat(parts).toString());
}
