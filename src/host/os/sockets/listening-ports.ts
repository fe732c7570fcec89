import { readFile } from 'node:fs/promises';

/** An address and port where a process accepts TCP connections. */
export interface ListeningPort {
  readonly host: string;
  readonly port: number;
  /** Of the listening socket. */
  readonly inode: number;
}

/** The ports that accept connections in the network of this program. */
export async function listeningHere(): Promise<readonly ListeningPort[]> {
  const tables = await Promise.all(['tcp', 'tcp6'].map(readTable));
  return tables.flatMap(listeningPorts);
}

async function readTable(name: string): Promise<string> {
  try {
    return await readFile(`/proc/self/net/${name}`, 'latin1');
  } catch {
    return ''; // a kernel without IPv6
  }
}

/** The listening sockets in the text of /proc/net/tcp or tcp6. */
export function listeningPorts(table: string): readonly ListeningPort[] {
  return table.split('\n').flatMap((line) => listeningPort(line) ?? []);
}

/** A line of the table; undefined for a socket that does not listen, and for the head. */
function listeningPort(line: string): ListeningPort | undefined {
  const [, address = '', port = '', state, inode] = LINE.exec(line) ?? [];
  if (state !== LISTEN) return undefined;
  return { host: addressText(address), port: Number.parseInt(port, 16), inode: Number(inode) };
}

/** Number, local address, remote address, state, queues, timer, retransmissions, user, timeout, inode. */
const LINE = /^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) \S+ \S+ \S+ +\d+ +\d+ +(\d+) /;
const LISTEN = '0A';

/** The kernel prints an address as words of four bytes in its own order, which is little-endian wherever this program runs. */
function addressText(words: string): string {
  const bytes = (words.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex').reverse()]);
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[2 * at]! << 8) | bytes[2 * at + 1]!).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
