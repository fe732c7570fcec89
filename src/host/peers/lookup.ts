import type { Socket } from 'node:net';
import { isIPv4 } from 'node:net';
import { once } from '../../base/index.ts';
import { type PeerSocket, peerSockets } from '../os/index.ts';
import { type PeerHolder, type PeerIdentity, type PeerProof, peerRefusal } from './decision.ts';
import { heldBy, holderSearches } from './holder-searches.ts';
import { isOfThisHost } from './local-address.ts';

const canLookUp = once(peerSockets.isAvailable);

/** The server's own user: it does not change, and asking takes 4 µs of the 200 that a connection takes to open. */
const ownUser = once(() => process.geteuid!());

/** One connection that a listener has accepted. */
export interface Accepted {
  readonly socket: Socket;
  /** The descriptor of a Unix socket; unknown if the socket is closed. */
  readonly unix?: { readonly descriptor: number | undefined };
  /** Users whose programs are served without a token. */
  readonly users: ReadonlySet<number>;
}

/** Looks up the process at the other end. For a peer with a token only sandboxes are searched, as any other peer is served. */
export async function findPeer({ socket, unix, users }: Accepted, proof: PeerProof): Promise<PeerIdentity> {
  const find = (): Found => (unix ? atOtherEnd(unix.descriptor) : socketOf(socket));
  const found = canLookUp() ? find() : 'unknown';
  if (found === 'nowhere') return { at: (await isOfThisHost(socket.remoteAddress ?? '')) ? 'unknown' : 'another host' };
  if (found === 'unknown') return { at: found };
  const [uid, inode] = found;
  if (inode === 0) return { at: 'unknown' }; // closed by now: kernels differ in the user of such a socket
  // Other users are refused without a search: otherwise they could have sandboxes stopped for searches at will.
  if (proof === 'none' && !users.has(uid)) return { at: 'this host', uid, holder: 'unseen' };
  try {
    const held = holder(await holderSearches().search(BigInt(inode), proof === 'none'));
    // If the process ended before the search, its socket is closed now.
    if (held === 'unseen' && !isSame(find(), inode)) return { at: 'unknown' };
    return { at: 'this host', uid, holder: held };
  } catch {
    return { at: 'unknown' }; // /proc cannot be read
  }
}

const isSame = (found: Found, inode: number): boolean => typeof found !== 'string' && found[1] === inode;

/** Why the peer of a TCP connection is refused; undefined if it is served. */
export function refusePeer(socket: Socket, proof: PeerProof): Promise<string | undefined> {
  return refuseAccepted({ socket, users: new Set([0, ownUser()]) }, proof);
}

/** `refusePeer` for a Unix socket: root is served like any other user, if it is among the users. */
export function refuseUnixPeer(
  socket: Socket,
  descriptor: number | undefined,
  users: ReadonlySet<number>,
  proof: PeerProof,
): Promise<string | undefined> {
  return refuseAccepted({ socket, unix: { descriptor }, users }, proof);
}

/** Looked up once per connection. */
function refuseAccepted(accepted: Accepted, proof: PeerProof): Promise<string | undefined> {
  const { socket, users } = accepted;
  const known = refusals.get(socket)?.[proof];
  if (known) return known;
  const own = ownUser();
  const refusal = findPeer(accepted, proof).then((peer) => peerRefusal(peer, proof, { own, users }));
  refusals.set(socket, { ...refusals.get(socket), [proof]: refusal });
  return refusal;
}

const refusals = new WeakMap<Socket, Partial<Record<PeerProof, Promise<string | undefined>>>>();

/** `nowhere`: the kernel knows no such socket in this network namespace. */
type Found = PeerSocket | 'nowhere' | 'unknown';

/** A connection that cannot be looked up is of an unknown peer: Unix sockets do not reach other hosts. */
function atOtherEnd(descriptor: number | undefined): Found {
  return (descriptor === undefined ? undefined : peerSockets.ofUnix(descriptor)) ?? 'unknown';
}

function socketOf({ remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 }: Socket): Found {
  const remote = addressBytes(remoteAddress);
  const local = addressBytes(localAddress);
  if (!remote || !local || remote.length !== local.length) return 'unknown';
  return peerSockets.ofTcp({ address: remote, port: remotePort }, { address: local, port: localPort }) ?? 'nowhere';
}

const MAPPED = /^::ffff:(?=[\d.]+$)/i;

/** The bytes of an address; four for an IPv4 address that a socket for both families reports as IPv6. */
export function addressBytes(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return ipv4Bytes(text);
  const address = text.replace(MAPPED, '').replace(/%.*$/, '');
  if (isIPv4(address)) return ipv4Bytes(address);
  const [head = '', tail] = address.split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [front, back] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length;
  const all = [...front, ...new Array<number>(Math.max(zeros, 0)).fill(0), ...back];
  if (all.length !== 8 || all.some(Number.isNaN)) return undefined;
  const bytes = Uint8Array.from(all.flatMap((group) => [group >> 8, group & 255]));
  const mapped = all.slice(0, 5).every((group) => group === 0) && all[5] === 0xffff;
  return mapped ? bytes.subarray(12) : bytes;
}

function ipv4Bytes(address: string): Uint8Array {
  const bytes = new Uint8Array(4);
  let at = 0;
  for (const part of address.split('.')) bytes[at++] = Number(part);
  return bytes;
}

function holder(holders: number): PeerHolder {
  if (holders & heldBy.sandbox) return 'sandbox';
  if (holders & heldBy.family) return 'family';
  if (holders & heldBy.elsewhere) return 'elsewhere';
  if (holders & heldBy.held) return 'outside';
  return holders & heldBy.suspect ? 'suspect' : 'unseen';
}
