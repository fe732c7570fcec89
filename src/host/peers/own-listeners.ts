import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { isOfThisHost } from './local-address.ts';

/** `work`: something can be started through it. `proxy`: a managed proxy of one process. */
export type ListenerKind = 'work' | 'proxy';

const PREFIX = 'exec-server/listener';

/** Ports of this process, by kind. */
const ports: Readonly<Record<ListenerKind, Set<number>>> = { work: new Set(), proxy: new Set() };

/**
 * Makes a TCP port known as one of this product until it is disposed: to this process, and by an abstract Unix socket, which
 * belongs to the same network namespace, to other servers of this machine.
 */
export function announceListener(kind: ListenerKind, port: number): Disposable {
  ports[kind].add(port);
  const sign = createServer((socket) => socket.destroy());
  sign.on('error', () => sign.close()); // another address with the same port has it already
  sign.listen(`\0${PREFIX}/${kind}/${port}`).unref();
  return {
    [Symbol.dispose]() {
      ports[kind].delete(port);
      sign.close();
    },
  };
}

/** Whether a connection to the first of these addresses that answers could reach a listener of this product. */
export async function leadsToOwnListener(
  addresses: readonly string[],
  port: number,
  kinds: readonly ListenerKind[],
): Promise<boolean> {
  if (!kinds.some((kind) => ports[kind].has(port)) && !(await isAnnounced(port, kinds))) return false;
  return (await Promise.all(addresses.map(isOfThisHost))).includes(true);
}

async function isAnnounced(port: number, kinds: readonly ListenerKind[]): Promise<boolean> {
  try {
    const names = await readFile('/proc/net/unix', 'utf8'); // padded with @ by some
    return kinds.some((kind) => new RegExp(`@${PREFIX}/${kind}/${port}@*$`, 'm').test(names));
  } catch {
    return false; // without procfs only the listeners of this process are known
  }
}
