import { type BigIntStats, lstatSync } from 'node:fs';
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
 * abstract Unix socket, which belongs to the same network namespace. Its name ends with numbers of its own, so that neither another
 * listener with the same port nor another program keeps it from being announced.
 */
export function announceListener(kind: ListenerKind, port: number): Disposable {
  ports[kind].add(port);
  const announcement = announce(`${kind}/${port}`);
  return {
    [Symbol.dispose]() {
      ports[kind].delete(port);
      announcement[Symbol.dispose]();
    },
  };
}

/** Announces the file of a Unix socket that this process listens on, as `announceListener` announces a port. */
export function announceSocketFile(path: string): Disposable {
  const file = nameOf(lstatSync(path, { bigint: true }));
  socketFiles.add(file);
  const announcement = announce(`socket/${file}`);
  return {
    [Symbol.dispose]() {
      socketFiles.delete(file);
      announcement[Symbol.dispose]();
    },
  };
}

/** Whether a file is the socket of a listener of this product. */
export async function isOwnSocketFile(facts: BigIntStats): Promise<boolean> {
  const file = nameOf(facts);
  return socketFiles.has(file) || (await areAnnounced([`socket/${file}`]));
}

/** The sockets that this process listens on. */
const socketFiles = new Set<string>();
const nameOf = ({ dev, ino }: BigIntStats): string => `${dev}:${ino}`;

function announce(name: string): Disposable {
  const announcement = createServer((socket) => socket.destroy());
  announcement.on('error', () => announcement.close()); // no descriptor is left: this process knows its listener all the same
  announcement.listen(`\0${PREFIX}/${name}/${process.pid}-${process.hrtime.bigint()}`).unref();
  return { [Symbol.dispose]: () => void announcement.close() };
}

/** Whether a connection to one of these addresses could reach a listener of this product. */
export async function leadsToOwnListener(
  addresses: readonly string[],
  port: number,
  kinds: readonly ListenerKind[],
): Promise<boolean> {
  if (!kinds.some((kind) => ports[kind].has(port)) && !(await areAnnounced(kinds.map((kind) => `${kind}/${port}`))))
    return false;
  return (await Promise.all(addresses.map(isOfThisHost))).includes(true);
}

async function areAnnounced(listeners: readonly string[]): Promise<boolean> {
  try {
    const names = await readFile('/proc/net/unix', 'utf8'); // some programs pad names with NULs, shown as @
    return listeners.some((listener) => new RegExp(`@${PREFIX}/${listener}/[\\w-]+@*$`, 'm').test(names));
  } catch {
    return false; // there is no procfs: only the listeners of this process are known
  }
}
