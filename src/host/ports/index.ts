export { isForwardEntry } from './forward-rules.ts';
export { listeningPorts } from './listening.ts';
export type { NetStream } from './net-stream.ts';
export { networkOf, type SessionNetworks } from './networks.ts';
export { StreamTable } from './stream-table.ts';
