/**
 * starting ──spawned──▶ running ──exited──▶ draining ──last streamEnded──▶ closed
 *
 * A child can exit while a grandchild still holds its stdout, and can close its stdout long before it exits, so
 * "exited" and "all output read" are separate facts. A sandbox counts as a stream, which ends when its mount points are removed.
 */
export type LifecycleState =
  | { readonly phase: 'starting' }
  | { readonly phase: 'running'; readonly openStreams: number }
  | ({ readonly phase: 'draining'; readonly openStreams: number } & Exit)
  | ({ readonly phase: 'closed' } & Exit);

export interface Exit {
  readonly exitCode: number;
  /** Whether it failed after its sandbox had refused a call, or, where refusals are not recorded, looks as if. */
  readonly sandboxDenied: boolean;
}

export type LifecycleEvent =
  | { readonly type: 'spawned'; readonly streams: number }
  | { readonly type: 'streamEnded' }
  | ({ readonly type: 'exited' } & Exit);

export function next(state: LifecycleState, event: LifecycleEvent): LifecycleState {
  if (state.phase === 'starting' && event.type === 'spawned') return { phase: 'running', openStreams: event.streams };
  if (state.phase === 'running' && event.type === 'streamEnded') {
    return { phase: 'running', openStreams: state.openStreams - 1 };
  }
  if (state.phase === 'running' && event.type === 'exited') return settle(state.openStreams, event);
  if (state.phase === 'draining' && event.type === 'streamEnded') return settle(state.openStreams - 1, state);
  throw new Error(`process cannot handle ${event.type} while ${state.phase}`);
}

function settle(openStreams: number, { exitCode, sandboxDenied }: Exit): LifecycleState {
  const exit = { exitCode, sandboxDenied };
  return openStreams === 0 ? { phase: 'closed', ...exit } : { phase: 'draining', openStreams, ...exit };
}

/** The exit code once the direct child has exited. */
export function exitCodeOf(state: LifecycleState): number | null {
  return 'exitCode' in state ? state.exitCode : null;
}

/** Whether the process has failed because of its sandbox. */
export function deniedIn(state: LifecycleState): boolean {
  return 'sandboxDenied' in state && state.sandboxDenied;
}
