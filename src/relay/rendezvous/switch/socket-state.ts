import type { Closing, FrameSocket } from './frame-socket.ts';

/**
 * The WebSocket of an environment or a harness, from the grant that admits it to its end:
 *
 *   opening ──opened──▶ reading ──full──▶ paused
 *                          ◀─────room──────┘
 *
 *   opening, reading, paused ──closed──▶ closed
 *
 * A socket can be closed before it opens, when another one takes its place. It opens then and is closed at once with `closing`.
 */
export type SocketState =
  | { readonly phase: 'opening' }
  | { readonly phase: 'reading'; readonly socket: FrameSocket }
  | { readonly phase: 'paused'; readonly socket: FrameSocket }
  | { readonly phase: 'closed'; readonly closing: Closing };

export type SocketEvent =
  | { readonly type: 'opened'; readonly socket: FrameSocket }
  /** A queue that this socket fills has no room. */
  | { readonly type: 'full' }
  | { readonly type: 'room' }
  | { readonly type: 'closed'; readonly closing: Closing };

/** Events that change nothing in a phase return the same state. */
export function nextSocketState(state: SocketState, event: SocketEvent): SocketState {
  if (state.phase === 'closed') return state;
  if (event.type === 'closed') return { phase: 'closed', closing: event.closing };
  if (state.phase === 'opening') {
    return event.type === 'opened' ? { phase: 'reading', socket: event.socket } : state;
  }
  if (event.type === 'full') return { phase: 'paused', socket: state.socket };
  if (event.type === 'room') return { phase: 'reading', socket: state.socket };
  throw new Error(`a socket that is ${state.phase} cannot be opened`);
}
