/** The process at the other end of a connection, as far as it can be told. */
export type Peer =
  /** The connection comes from another machine, or at least from no network of this one. */
  | { readonly at: 'another host' }
  /** The socket was closed already, or could not be looked up: nothing is known. */
  | { readonly at: 'unknown' }
  | { readonly at: 'this host'; readonly uid: number; readonly holder: PeerHolder };

/**
 * Where the process lives that holds the socket; of several the first of this list.
 *
 * - `sandbox`: in a sandbox of this product.
 * - `family`: a command of this process, or a descendant of one.
 * - `elsewhere`: in another pid or user namespace.
 * - `outside`: none of these.
 * - `suspect`: not found, while a sandbox that shares the network could be hiding it.
 * - `unseen`: not found, or may not be looked at.
 */
export type PeerHolder = 'sandbox' | 'family' | 'elsewhere' | 'outside' | 'suspect' | 'unseen';

/** Whether the peer has shown a valid token, or the listener asks for none. */
export type PeerProof = 'token' | 'none';

/** Why a peer is refused, or nothing if it is served. `own` is the user that the server runs as. */
export function peerRefusal(peer: Peer, proof: PeerProof, own: number): string | undefined {
  if (peer.at === 'this host' && peer.holder === 'sandbox') {
    return 'connections from sandboxed commands are not served';
  }
  if (proof === 'token') return undefined;
  if (peer.at === 'another host') return undefined; // only a listener that was told to serve the network has such
  if (peer.at === 'unknown') return `the connecting process cannot be identified; ${REMEDY}`;
  if (peer.uid !== own && peer.uid !== 0) return `connections of user ${peer.uid} are not served; ${REMEDY}`;
  switch (peer.holder) {
    case 'family':
      return `connections from commands of this server are not served; ${REMEDY}`;
    case 'elsewhere':
      return `connections from other containers are not served; ${REMEDY}`;
    case 'suspect':
      if (peer.uid !== own) return undefined; // sandboxed commands have the server's user
      return `the connecting process cannot be told from a sandboxed command; ${REMEDY}`;
    case 'outside':
    case 'unseen':
      return undefined;
  }
}

const REMEDY = 'present a token (start the server with --print-token-url or --ws-auth)';
