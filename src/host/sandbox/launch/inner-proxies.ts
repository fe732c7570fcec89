import { connect, createServer, type Server, type Socket } from 'node:net';
import { DescriptorChannel } from '../../os/index.ts';
import { leadsToOwnListener } from '../../peers/index.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * The ports that the proxy variables of an environment name on this machine: of what a managed network set or a client
 * sent, never of what a command inherits. A sandbox listens on the same numbers
 * inside, where all are free, so that the variables need no change.
 */
export function proxyPorts(env: Environment): readonly number[] {
  const values = Object.entries(env).filter(([name]) => /(^|_)proxy$/i.test(name) && !/no_?proxy$/i.test(name));
  const ports = values.flatMap(([, value]) => loopbackPort(value) ?? []);
  if (ports.length === 0)
    throw new UnenforceablePolicy('the network is to be managed, but no variable names a proxy on loopback');
  return [...new Set(ports)];
}

function loopbackPort(value: string): number | undefined {
  const match = /^(?:[a-z0-9+.-]+:\/\/)?(?:[^@/]*@)?(?:127(?:\.\d+){3}|localhost|\[::1\]):(\d+)\/?$/i.exec(
    value.trim(),
  );
  const port = Number(match?.[1]);
  return port > 0 && port < 65_536 ? port : undefined;
}

/** Lets what runs in a network namespace of its own reach proxies of the host, and nothing else. */
export class InnerProxies implements Disposable {
  readonly ports: readonly number[];
  readonly channel = new DescriptorChannel();
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #over = false;

  constructor(ports: readonly number[]) {
    this.ports = ports;
  }

  /** Takes over the listening sockets that the started command has made on its side. */
  async open(): Promise<void> {
    const descriptors = await this.channel.receive();
    descriptors.forEach((fd, index) => {
      const server = createServer({ allowHalfOpen: true }, (inner) => void this.#bridge(inner, this.ports[index]!));
      server.on('error', () => server.close()); // the namespace is gone
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
      socket.on('error', () => other.destroy()); // one side broken is both sides broken
      socket.once('close', () => this.#sockets.delete(socket));
      socket.pipe(other);
    }
  }
}
