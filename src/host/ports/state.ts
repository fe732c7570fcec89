/**
 * A stream is open until both directions are over: the other end has ended, or failed, and the client has ended. `abandoned`: the
 * client does not want it any more.
 */
export type StreamState =
  | {
      readonly phase: 'open';
      /** Whether the client may still write. */
      readonly isSending: boolean;
      readonly isAbandoned?: true;
      /** The number of the event that the other end has ended. */
      readonly endedSeq?: number;
      /** Why the connection has failed. */
      readonly error?: string;
    }
  | { readonly phase: 'closed'; readonly endedSeq?: number; readonly error?: string };

export type StreamEvent =
  /** The client sends no more. */
  | { readonly type: 'sent' }
  /** The other end sends no more. */
  | { readonly type: 'ended'; readonly seq: number }
  | { readonly type: 'failed'; readonly error: string }
  | { readonly type: 'abandoned' }
  | { readonly type: 'closed' };

/** The state after an event; the same state if the event changes nothing. */
export function next(state: StreamState, event: StreamEvent): StreamState {
  if (state.phase === 'closed') return state;
  switch (event.type) {
    case 'sent':
      return { ...state, isSending: false };
    case 'ended':
      return state.endedSeq === undefined ? { ...state, endedSeq: event.seq } : state;
    case 'failed':
      // The first failure explains those after it, and none matters to a client that has closed the stream.
      return { ...state, isSending: false, ...(!state.error && !state.isAbandoned && { error: event.error }) };
    case 'abandoned':
      return { ...state, isSending: false, isAbandoned: true };
    case 'closed': {
      const { endedSeq, error } = state;
      return { phase: 'closed', ...(endedSeq !== undefined && { endedSeq }), ...(error !== undefined && { error }) };
    }
  }
}
