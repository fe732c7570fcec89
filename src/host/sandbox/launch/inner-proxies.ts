import { connect, createServer, type Server, type Socket } from 'node:net';
import { DescriptorChannel } from '../../os/index.ts';
import { leadsToOwnListener } from '../../peers/index.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * The loopback ports that the proxy variables of a managed network or a client name; variables that a command inherits from the
 * server do not count. A sandbox listens on the same ports inside, where all are free, so that the variables need no change.
 */
export function proxyPorts(env: Environment): readonly number[] {
  const values = Object.entries(env).filter(([name]) => /(^|_)proxy$/i.test(name) && !/no_?proxy$/i.test(name));
  const ports = values.flatMap(([, value]) => loopbackPort(value) ?? []);
  if (ports.length === 0)
    throw new UnenforceablePolicy(
      'a managed network needs a variable that names its proxy on loopback, such as HTTP_PROXY',
    );
  return [...new Set(ports)];
}

function loopbackPort(value: string): number | undefined {
  const match = /^(?:[a-z0-9+.-]+:\/\/)?(?:[^@/]*@)?(?:127(?:\.\d+){3}|localhost|\[::1\]):(\d+)\/?$/i.exec(
    value.trim(),
  );
  const port = Number(match?.[1]);
  return port > 0 && port < 65_536 ? port : undefined;
}

/** Connects a network namespace with proxies of the host, and with nothing else. */
export class InnerProxies implements Disposable {
  readonly ports: readonly number[];
  readonly channel = new DescriptorChannel();
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #over = false;

  constructor(ports: readonly number[]) {
    this.ports = ports;
  }

  /** Receives the listening sockets that the stage has made in the namespace, and accepts their connections. */
  async open(): Promise<void> {
    const descriptors = await this.channel.receive();
    descriptors.forEach((fd, index) => {
      const server = createServer({ allowHalfOpen: true }, (inner) => void this.#bridge(inner, this.ports[index]!));
      server.on('error', () => server.close()); // the namespace has ended
      this.#servers.push(server.listen({ fd }));
    });
    if (this.#over) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.channel[Symbol.dispose]();
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #bridge(inner: Socket, port: number): Promise<void> {
    this.#sockets.add(inner);
    inner.on('error', () => inner.destroy()).once('close', () => this.#sockets.delete(inner));
    if (await leadsToOwnListener(['127.0.0.1'], port, ['work'])) inner.destroy();
    if (inner.destroyed || this.#over) return;
    const outer = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy()); // when one side breaks, the other is closed
      socket.once('close', () => this.#sockets.delete(socket));
      socket.pipe(other);
    }
  }
}
