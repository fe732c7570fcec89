export { MalformedMessage, type Message, parseMessage, type RequestId } from './envelope.ts';
export type { Lane } from './lanes.ts';
export type { Link, Receiver } from './link.ts';
export { ConnectionLost, EncodedResult, Peer, type PeerOptions, type Service, type Violation } from './peer.ts';
