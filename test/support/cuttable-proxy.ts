import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Changes } from '../../src/base/index.ts';

/** A network that misbehaves on request: stands between a client and a server on loopback. */
export class CuttableProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #changes = new Changes();
  #target: URL;
  #refusing = false;
  #accepted = 0;
  #refused = 0;
  #cutAfterBytes = Number.POSITIVE_INFINITY;

  static async start(targetUrl: string): Promise<CuttableProxy> {
    const proxy = new CuttableProxy(targetUrl);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(targetUrl: string) {
    this.#target = new URL(targetUrl);
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every connection; neither side gets a close frame. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** Passes nothing on any more over the connections there are, and tells neither side. */
  silence(): void {
    for (const socket of this.#open) socket.unpipe().pause();
  }

  /** Breaks every connection as soon as the server has sent so much more. */
  cutAfter(bytes: number): void {
    this.#cutAfterBytes = bytes;
  }

  refuse(): void {
    this.#refusing = true;
  }

  accept(): void {
    this.#refusing = false;
  }

  /** New connections go to another server. */
  retarget(url: string): void {
    this.#target = new URL(url);
  }

  async untilAccepted(connections: number): Promise<void> {
    while (this.#accepted < connections) await this.#changes.next();
  }

  async untilRefused(connections: number): Promise<void> {
    while (this.#refused < connections) await this.#changes.next();
  }

  get accepted(): number {
    return this.#accepted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#refusing) {
      this.#refused++;
      client.destroy();
    } else {
      this.#accepted++;
      this.#join(client);
    }
    this.#changes.notify();
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(one);
      one.setNoDelay(true);
      one.on('error', () => {}); // `close` follows
      one.on('close', () => {
        this.#open.delete(one);
        other.destroy();
      });
    }
    server.on('data', (data) => this.#count(data.length));
    client.pipe(server);
    server.pipe(client);
  }

  #count(bytes: number): void {
    this.#cutAfterBytes -= bytes;
    if (this.#cutAfterBytes > 0) return;
    this.#cutAfterBytes = Number.POSITIVE_INFINITY;
    this.cut();
  }
}
