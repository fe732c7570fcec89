import { once } from 'node:events';
import { closeSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import { addon } from '../addon.ts';
import { errorName } from '../error-name.ts';

/** The addresses of a loopback that servers listen on. */
export type LoopbackHost = '127.0.0.1' | '::1';

/** An address and port where a process of a network namespace accepts TCP connections. */
export interface ListeningPort {
  readonly host: string;
  readonly port: number;
}

/**
 * A network namespace, kept by a descriptor: it exists as long as this object or one of its processes, and ends with this program
 * however that ends. This program never enters it: what it opens there is opened by a child that shares its descriptors
 * (native/addon/network.c).
 */
export class NetworkNamespace implements Disposable {
  #descriptor: number | undefined;

  /** Takes over a descriptor of a network namespace. */
  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The namespace of a process; undefined if it is that of this program. Throws the kernel's error if the process has ended. */
  static ofProcess(pid: number): NetworkNamespace | undefined {
    const own = readlinkSync('/proc/self/ns/net');
    const descriptor = openSync(`/proc/${pid}/ns/net`, 'r');
    if (readlinkSync(`/proc/self/fd/${descriptor}`) !== own) return new NetworkNamespace(descriptor);
    closeSync(descriptor);
    return undefined;
  }

  /** For a child to inherit. */
  get descriptor(): number {
    if (this.#descriptor === undefined) throw new Error('the network namespace is closed');
    return this.#descriptor;
  }

  /**
   * A TCP socket inside, not connected and not blocking, which the caller connects and closes: it stays there whichever process
   * connects it.
   */
  socket(family: 4 | 6): number {
    return this.#open(family === 6 ? 'tcp6' : 'tcp4');
  }

  /** A connection to a server inside. Rejects with the error of the connection, or with that of entering the namespace. */
  async connect({ host, port }: { readonly host: LoopbackHost; readonly port: number }): Promise<Socket> {
    const fd = this.socket(host === '::1' ? 6 : 4);
    const socket = new Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
    // Without a handle, or for a name with several addresses, Node would make another socket: one in the namespace of this program.
    if (socket.destroyed) throw new Error('the socket was closed before it was connected');
    socket.connect({ host, port, autoSelectFamily: false });
    await once(socket, 'connect');
    return socket;
  }

  /** The ports that accept connections inside. */
  listening(): readonly ListeningPort[] {
    const lines = (['tcp4Table', 'tcp6Table'] as const).flatMap((kind) => {
      const table = this.#open(kind);
      try {
        return readFileSync(table, 'latin1').trim().split('\n').slice(1);
      } finally {
        closeSync(table);
      }
    });
    return lines.flatMap((line) => listeningPort(line) ?? []);
  }

  [Symbol.dispose](): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #open(kind: (typeof KINDS)[number]): number {
    const outcome = addon().openInNetwork(this.descriptor, KINDS.indexOf(kind));
    if (outcome >= 0) return outcome;
    const code = errorName(-outcome);
    throw Object.assign(new Error(`cannot enter the network namespace: ${code}`), { code, errno: outcome });
  }
}

/** What can be opened in a namespace, in the order of native/addon/network.c. */
const KINDS = ['tcp4', 'tcp6', 'tcp4Table', 'tcp6Table'] as const;

/** A line of /proc/net/tcp or tcp6; undefined for a socket that does not listen. */
export function listeningPort(line: string): ListeningPort | undefined {
  const [, address = '', port = '', state] = /^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) /.exec(line) ?? [];
  return state === LISTEN ? { host: addressText(address), port: Number.parseInt(port, 16) } : undefined;
}

const LISTEN = '0A';

/** The kernel prints an address as words of four bytes in its own order, which is little-endian wherever this program runs. */
function addressText(words: string): string {
  const bytes = (words.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex').reverse()]);
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[2 * at]! << 8) | bytes[2 * at + 1]!).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
