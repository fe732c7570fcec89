import type { RelayBody } from '../wire/frame.ts';

/**
 * The states of a harness's end of an encrypted stream:
 *
 *   handshaking ──handshake──▶ open ──second handshake──▶ failed
 *        └──reset, data, no answer in time, connection lost──▶ failed
 *
 * While it is open the stream has states of its own (`stream-state.ts`); a lost connection is one of them.
 */
export type HarnessState =
  | { readonly phase: 'handshaking' }
  | { readonly phase: 'open' }
  | { readonly phase: 'failed'; readonly reason: string };

/** The kind of a frame that arrived, or the end of waiting for one. */
export type HarnessEvent = RelayBody['type'] | 'timeout' | 'connectionLost';

const failures: Partial<Record<HarnessEvent, string>> = {
  reset: 'the environment refused the stream',
  data: 'data before the handshake is complete',
  timeout: 'the environment does not answer',
  connectionLost: 'the connection ended during the handshake',
};

/** The state after an event: the same object where the event changes nothing. */
export function next(state: HarnessState, event: HarnessEvent): HarnessState {
  if (state.phase === 'failed') return state;
  if (state.phase === 'open') return event === 'handshake' ? failed('a second handshake answer') : state;
  if (event === 'handshake') return { phase: 'open' };
  const reason = failures[event];
  return reason === undefined ? state : failed(reason);
}

const failed = (reason: string): HarnessState => ({ phase: 'failed', reason });
