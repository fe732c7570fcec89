/**
 * opening ──opened──▶ open ──lost, session known──▶ resuming ──resumed──▶ open
 *
 * Every phase can end in `closed`: by a refused handshake, a loss without a session to resume, a resume that fails, and by
 * `close()` at any time.
 */
export type ConnectionState =
  | { readonly phase: 'opening' }
  | { readonly phase: 'open'; readonly sessionId: string | undefined }
  | { readonly phase: 'resuming'; readonly sessionId: string; readonly lost: Error }
  | { readonly phase: 'closed'; readonly reason: Error };

export type ConnectionEvent =
  | { readonly type: 'opened'; readonly sessionId: string | undefined }
  | { readonly type: 'lost'; readonly reason: Error }
  | { readonly type: 'resumed' }
  | { readonly type: 'ended'; readonly reason: Error };

export function nextConnectionState(state: ConnectionState, event: ConnectionEvent): ConnectionState {
  if (state.phase === 'closed') return state;
  if (event.type === 'ended') return { phase: 'closed', reason: event.reason };
  if (state.phase === 'opening' && event.type === 'opened') return { phase: 'open', sessionId: event.sessionId };
  if (state.phase === 'open' && event.type === 'lost') {
    const { sessionId } = state;
    if (sessionId === undefined) return { phase: 'closed', reason: event.reason };
    return { phase: 'resuming', sessionId, lost: event.reason };
  }
  if (state.phase === 'resuming' && event.type === 'resumed') return { phase: 'open', sessionId: state.sessionId };
  throw new Error(`connection cannot handle ${event.type} while ${state.phase}`);
}
