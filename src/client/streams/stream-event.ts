import { decode, type NotificationName, notifications, type Result } from '../../protocol/index.ts';
import { EventOrder, type Reconciled } from '../event-order.ts';

/** An event of a connection to a port, numbered by the server from 1 without gaps. */
export type StreamEvent =
  | { readonly type: 'data'; readonly seq: number; readonly bytes: Uint8Array }
  /** The other end sends no more. */
  | { readonly type: 'ended'; readonly seq: number }
  | { readonly type: 'closed'; readonly seq: number; readonly error?: string | undefined };

/** The event that a notification is about, if it is about a stream. */
export function streamEvent(method: NotificationName, params: unknown): StreamEvent | undefined {
  if (method === 'net/data') {
    const { seq, chunk } = decode(notifications[method], params);
    return { type: 'data', seq, bytes: chunk };
  }
  if (method === 'net/ended') return { type: 'ended', seq: decode(notifications[method], params).seq };
  if (method !== 'net/closed') return undefined;
  const { seq, error } = decode(notifications[method], params);
  return { type: 'closed', seq, error };
}

/** The order of the events of one stream. */
export class StreamOrder extends EventOrder<StreamEvent> {
  /** Fills gaps from a `net/read`, and reports a gap that cannot be filled. */
  reconcile({ chunks, nextSeq, endedSeq, closed, error }: Result<'net/read'>): Reconciled<StreamEvent> {
    for (const { seq, chunk } of chunks) this.hold({ type: 'data', seq, bytes: chunk });
    if (endedSeq !== null) this.hold({ type: 'ended', seq: endedSeq });
    if (closed) this.hold({ type: 'closed', seq: nextSeq - 1, error: error ?? undefined });
    return this.settle(nextSeq);
  }
}
