import type { Socket } from 'node:net';
import { isIPv4 } from 'node:net';
import { once } from '../../base/index.ts';
import { type PeerSocket, peerSockets } from '../os/index.ts';
import { type Peer, type PeerHolder, type PeerProof, peerRefusal } from './decision.ts';
import { heldBy, holderSearches } from './holder-searches.ts';
import { isOfThisHost } from './local-address.ts';

const canLookUp = once(peerSockets.isAvailable);

/** Looks up who is connected. With a token only sandboxes matter, and others are searched for only where there is one. */
export async function findPeer(socket: Socket, proof: PeerProof): Promise<Peer> {
  const found = canLookUp() ? socketOf(socket) : 'unknown';
  if (found === 'nowhere') return { at: (await isOfThisHost(socket.remoteAddress ?? '')) ? 'unknown' : 'another host' };
  if (found === 'unknown') return { at: found };
  const [uid, inode] = found;
  if (inode === 0) return { at: 'unknown' }; // closed by now: kernels differ in the user they tell of such a socket
  // Others are refused by their user alone: they cannot have sandboxes searched, and stopped for it, as often as they like.
  if (proof === 'none' && uid !== 0 && uid !== process.geteuid!()) return { at: 'this host', uid, holder: 'unseen' };
  try {
    const held = holder(await holderSearches().search(BigInt(inode), proof === 'none'));
    // A process that ended before it was searched for has closed its socket.
    if (held === 'unseen' && !isSame(socketOf(socket), inode)) return { at: 'unknown' };
    return { at: 'this host', uid, holder: held };
  } catch {
    return { at: 'unknown' }; // /proc cannot be read
  }
}

const isSame = (found: Found, inode: number): boolean => typeof found !== 'string' && found[1] === inode;

/** Why the peer of a connection is refused, or nothing; looked up once for a connection. */
export function refusePeer(socket: Socket, proof: PeerProof): Promise<string | undefined> {
  const known = judged.get(socket)?.[proof];
  if (known) return known;
  const judging = findPeer(socket, proof).then((peer) => peerRefusal(peer, proof, process.geteuid!()));
  judged.set(socket, { ...judged.get(socket), [proof]: judging });
  return judging;
}

const judged = new WeakMap<Socket, Partial<Record<PeerProof, Promise<string | undefined>>>>();

/** `nowhere`: this machine has no such socket. */
type Found = PeerSocket | 'nowhere' | 'unknown';

function socketOf({ remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 }: Socket): Found {
  const remote = addressBytes(remoteAddress);
  const local = addressBytes(localAddress);
  if (!remote || !local || remote.length !== local.length) return 'unknown';
  return peerSockets.ofTcp({ address: remote, port: remotePort }, { address: local, port: localPort }) ?? 'nowhere';
}

const MAPPED = /^::ffff:(?=[\d.]+$)/i;

/** The bytes of an address; IPv4 is IPv4, also where a socket for both families tells of it. */
export function addressBytes(text: string): Uint8Array | undefined {
  const address = text.replace(MAPPED, '').replace(/%.*$/, '');
  if (isIPv4(address)) return Uint8Array.from(address.split('.'), Number);
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

function holder(holders: number): PeerHolder {
  if (holders & heldBy.sandbox) return 'sandbox';
  if (holders & heldBy.family) return 'family';
  if (holders & heldBy.elsewhere) return 'elsewhere';
  if (holders & heldBy.held) return 'outside';
  return holders & heldBy.suspect ? 'suspect' : 'unseen';
}
