/**
 * starting ──spawned──▶ running ──exited──▶ draining ──last streamEnded──▶ closed
 *
 * A child can exit while a grandchild still holds its stdout, and can close its stdout long before it exits, so
 * "exited" and "all output read" are separate facts. A sandbox counts as a stream, which ends when its mount points are removed.
 */
export type LifecycleState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'running'; readonly openStreams: number }
  | { readonly phase: 'draining'; readonly openStreams: number; readonly exit: Exit }
  | { readonly phase: 'closed'; readonly exit: Exit };

export interface Exit {
  readonly exitCode: number;
  /** Whether it failed after its sandbox had refused a call, or, where refusals are not recorded, looks as if. */
  readonly sandboxDenied: boolean;
  /** The signal that ended it, if one did. */
  readonly signal?: string;
}

export type LifecycleEvent =
  | { readonly type: 'spawned'; readonly streams: number }
  | { readonly type: 'streamEnded' }
  | { readonly type: 'exited'; readonly exit: Exit };

export function next(state: LifecycleState, event: LifecycleEvent): LifecycleState {
  if (state.phase === 'starting' && event.type === 'spawned') return { phase: 'running', openStreams: event.streams };
  if (state.phase === 'running' && event.type === 'streamEnded') {
    return { phase: 'running', openStreams: state.openStreams - 1 };
  }
  if (state.phase === 'running' && event.type === 'exited') return settle(state.openStreams, event.exit);
  if (state.phase === 'draining' && event.type === 'streamEnded') return settle(state.openStreams - 1, state.exit);
  throw new Error(`process cannot handle ${event.type} while ${state.phase}`);
}

function settle(openStreams: number, exit: Exit): LifecycleState {
  return openStreams === 0 ? { phase: 'closed', exit } : { phase: 'draining', openStreams, exit };
}

/** How the direct child ended, once it has. */
export function exitOf(state: LifecycleState): Exit | undefined {
  return 'exit' in state ? state.exit : undefined;
}
