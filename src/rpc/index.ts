export type { Lane } from './lanes.ts';
export type { CloseReason, Link, Receiver } from './link.ts';
export {
  ConnectionLost,
  DeferredResult,
  EncodedResult,
  type Ending,
  JsonText,
  Peer,
  type Service,
  type Violation,
} from './peer.ts';
