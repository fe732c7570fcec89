/**
 * What a launcher is doing that was loaded before its order came, and which ends of its two sockets are open here:
 *
 *               ordered               settled
 *      idle ───────────────▶ ordered ─────────▶ over
 *       │                     │   ▲              ▲
 *       │                     └───┘              │
 *       │                     ended              │
 *       └────────────── ended ───────────────────┘
 *
 *      idle     both ends of both: ours to send the order, the launcher's own for a launcher that takes its place
 *      ordered  the launcher's own: where it ends without having taken the order, another one finds the order there
 *      over     none
 */
export type LauncherState =
  | { readonly phase: 'idle' }
  | { readonly phase: 'ordered'; readonly bytes: number }
  | { readonly phase: 'over' };

export type LauncherEvent =
  /** It is told what sandbox to make, in so many bytes. */
  | { readonly type: 'ordered'; readonly bytes: number }
  /** No other launcher can have the order any more. */
  | { readonly type: 'settled' }
  /** Its process has ended, or was never started. */
  | { readonly type: 'ended' };

export function nextLauncherState(state: LauncherState, event: LauncherEvent): LauncherState {
  if (event.type === 'ordered') {
    if (state.phase !== 'idle') throw new Error('a launcher takes one order');
    return { phase: 'ordered', bytes: event.bytes };
  }
  const endsIt = event.type === 'settled' ? 'ordered' : 'idle';
  return state.phase === endsIt ? { phase: 'over' } : state;
}
