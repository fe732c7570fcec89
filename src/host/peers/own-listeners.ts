import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { isOfThisHost } from './local-address.ts';

/** `work`: a listener through which processes can be started. `proxy`: a managed proxy of one process. */
export type ListenerKind = 'work' | 'proxy';

const PREFIX = 'exec-server/listener';

/** The ports that this process listens on. */
const ports: Readonly<Record<ListenerKind, Set<number>>> = { work: new Set(), proxy: new Set() };

/**
 * Announces a TCP port as one of this product until it is disposed: to this process, and to other servers of this machine by an
 * abstract Unix socket, which belongs to the same network namespace.
 */
export function announceListener(kind: ListenerKind, port: number): Disposable {
  ports[kind].add(port);
  const announcement = createServer((socket) => socket.destroy());
  announcement.on('error', () => announcement.close()); // announced already for another address with the same port
  announcement.listen(`\0${PREFIX}/${kind}/${port}`).unref();
  return {
    [Symbol.dispose]() {
      ports[kind].delete(port);
      announcement.close();
    },
  };
}

/** Whether a connection to one of these addresses could reach a listener of this product. */
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
    const names = await readFile('/proc/net/unix', 'utf8'); // some programs pad names with NULs, shown as @
    return kinds.some((kind) => new RegExp(`@${PREFIX}/${kind}/${port}@*$`, 'm').test(names));
  } catch {
    return false; // there is no procfs: only the listeners of this process are known
  }
}
