/**
 * The states of a launcher that is loaded before its order comes, by which ends of its two sockets are open in this process:
 *
 *               ordered               settled
 *      idle ───────────────▶ ordered ─────────▶ over
 *       │                     │   ▲              ▲
 *       │                     └───┘              │
 *       │                     ended              │
 *       └────────────── ended ───────────────────┘
 *
 *      idle     both ends of both: the near ends to send the order, the far ends for a launcher that replaces this one
 *      ordered  the far ends: if the launcher ends without having read the order, another one reads it there
 *      over     none
 */
export type LauncherState =
  | { readonly phase: 'idle' }
  | { readonly phase: 'ordered'; readonly bytes: number }
  | { readonly phase: 'over' };

export type LauncherEvent =
  /** The launcher is sent the arguments of its sandbox, with this length. */
  | { readonly type: 'ordered'; readonly bytes: number }
  /** No other launcher may get the order any more. */
  | { readonly type: 'settled' }
  /** The launcher's process has ended, or was never started. */
  | { readonly type: 'ended' };

export function nextLauncherState(state: LauncherState, event: LauncherEvent): LauncherState {
  if (event.type === 'ordered') {
    if (state.phase !== 'idle') throw new Error('a launcher takes one order');
    return { phase: 'ordered', bytes: event.bytes };
  }
  const endsIt = event.type === 'settled' ? 'ordered' : 'idle';
  return state.phase === endsIt ? { phase: 'over' } : state;
}
