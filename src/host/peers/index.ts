export { type PeerHolder, type PeerIdentity, type PeerProof, peerRefusal } from './decision.ts';
export { addressBytes, refusePeer, refuseUnixPeer } from './lookup.ts';
export {
  announceListener,
  announceSocketFile,
  isOwnSocketFile,
  type ListenerKind,
  leadsToOwnListener,
} from './own-listeners.ts';
