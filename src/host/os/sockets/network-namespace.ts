import { closeSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { addon } from '../addon.ts';
import { errorName } from '../error-name.ts';
import { type ListeningPort, listeningPorts } from './listening-ports.ts';

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

  /** The ports that accept connections inside. */
  listening(): readonly ListeningPort[] {
    return (['tcp4Table', 'tcp6Table'] as const).flatMap((kind) => {
      const table = this.#open(kind);
      try {
        return listeningPorts(readFileSync(table, 'latin1'));
      } finally {
        closeSync(table);
      }
    });
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
