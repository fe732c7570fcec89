export type { Lane } from './lanes.ts';
export type { Farewell, Link, Receiver } from './link.ts';
export { ConnectionLost, EncodedResult, Peer, type Service, type Violation } from './peer.ts';
