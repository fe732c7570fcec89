/**
 * starting ──spawned──▶ running ──exited──▶ draining ──last streamEnded──▶ closed
 *
 * A child can exit while a grandchild still holds its stdout, and can close its stdout long before it exits, so
 * "exited" and "all output seen" are separate facts.
 */
export type ProcessState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'running'; readonly openStreams: number }
  | { readonly phase: 'draining'; readonly openStreams: number; readonly exitCode: number }
  | { readonly phase: 'closed'; readonly exitCode: number };

export type ProcessEvent =
  | { readonly type: 'spawned'; readonly streams: number }
  | { readonly type: 'streamEnded' }
  | { readonly type: 'exited'; readonly exitCode: number };

export function next(state: ProcessState, event: ProcessEvent): ProcessState {
  if (state.phase === 'starting' && event.type === 'spawned') return { phase: 'running', openStreams: event.streams };
  if (state.phase === 'running' && event.type === 'streamEnded') {
    return { phase: 'running', openStreams: state.openStreams - 1 };
  }
  if (state.phase === 'running' && event.type === 'exited') return settle(state.openStreams, event.exitCode);
  if (state.phase === 'draining' && event.type === 'streamEnded') return settle(state.openStreams - 1, state.exitCode);
  throw new Error(`process cannot handle ${event.type} while ${state.phase}`);
}

function settle(openStreams: number, exitCode: number): ProcessState {
  return openStreams === 0 ? { phase: 'closed', exitCode } : { phase: 'draining', openStreams, exitCode };
}

/** The exit code once the direct child is gone. */
export function exitCodeOf(state: ProcessState): number | null {
  return 'exitCode' in state ? state.exitCode : null;
}
