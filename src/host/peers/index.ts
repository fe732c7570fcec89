export { type Peer, type PeerHolder, type PeerProof, peerRefusal } from './decision.ts';
export { findPeer, refusePeer } from './lookup.ts';
export { announceListener, type ListenerKind, leadsToOwnListener } from './own-listeners.ts';
