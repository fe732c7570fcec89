export { type PeerHolder, type PeerIdentity, type PeerProof, peerRefusal } from './decision.ts';
export { refusePeer, refuseUnixPeer } from './lookup.ts';
export { announceListener, type ListenerKind, leadsToOwnListener } from './own-listeners.ts';
