/** The process at the other end of a connection, as far as it is known. */
export type PeerIdentity =
  /** The connection comes from another machine, or from a network namespace that this server cannot see. */
  | { readonly at: 'another host' }
  /** The socket was closed already, or could not be looked up: nothing is known. */
  | { readonly at: 'unknown' }
  | { readonly at: 'this host'; readonly uid: number; readonly holder: PeerHolder };

/**
 * Which process has the socket open; of several the first in this list.
 *
 * - `sandbox`: one in a sandbox of this product.
 * - `family`: a command of this process, or a descendant of one.
 * - `elsewhere`: one in another pid or user namespace.
 * - `outside`: any other process.
 * - `suspect`: none was found, while a sandbox shares the network and could be hiding it.
 * - `unseen`: none was found, or its descriptors may not be read.
 */
export type PeerHolder = 'sandbox' | 'family' | 'elsewhere' | 'outside' | 'suspect' | 'unseen';

/** Whether the peer has presented a valid token. */
export type PeerProof = 'token' | 'none';

export interface ServedUsers {
  /** The user that the server runs as, which sandboxed commands have too. */
  readonly own: number;
  /** Users that are served without a token. */
  readonly users: ReadonlySet<number>;
}

/** Why a peer is refused; undefined if it is served. */
export function peerRefusal(peer: PeerIdentity, proof: PeerProof, { own, users }: ServedUsers): string | undefined {
  if (peer.at === 'this host' && peer.holder === 'sandbox') {
    return 'connections from sandboxed commands are not served';
  }
  if (proof === 'token') return undefined;
  if (peer.at === 'another host') return undefined; // only a listener that was configured for the network has remote peers
  if (peer.at === 'unknown') return `the connecting process cannot be identified; ${REMEDY}`;
  if (!users.has(peer.uid)) return `connections of user ${peer.uid} are not served; ${REMEDY}`;
  switch (peer.holder) {
    case 'family':
      return `connections from commands of this server are not served; ${REMEDY}`;
    case 'elsewhere':
      return `connections from other containers are not served; ${REMEDY}`;
    case 'suspect':
      if (peer.uid !== own) return undefined;
      return `the connecting process cannot be told from a sandboxed command; ${REMEDY}`;
    case 'outside':
    case 'unseen':
      return undefined;
  }
}

const REMEDY = 'present a token (start the server with --print-token-url or --ws-auth)';
