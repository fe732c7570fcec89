export type { PortNetwork } from './destination.ts';
export { isForwardEntry } from './forward-rules.ts';
export type { NetStream } from './net-stream.ts';
export { StreamTable } from './stream-table.ts';
