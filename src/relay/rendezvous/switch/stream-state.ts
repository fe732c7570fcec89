/**
 * A stream at the node of its environment, and the harness it belongs to:
 *
 *   attached ──reset──▶ draining ──drained──▶ over
 *      │ ▲                  └─────lost──────▶ over
 *      │ └─────────found──────────┐
 *      ├───lost, reliable───▶ detached ──reset──▶ over
 *      └──lost, unreliable──▶ over
 *
 *   attached ──found──▶ attached, to another connection of the same harness
 *   draining ──found──▶ over: the harness that came back begins a new stream
 *   attached, draining, detached ──ended──▶ over
 *
 * `reset` is the environment's: the harness hears of it after the frames that wait for it.
 */
export type SwitchStreamState<Harness> =
  | { readonly phase: 'attached'; readonly harness: Harness }
  | { readonly phase: 'draining'; readonly harness: Harness }
  | { readonly phase: 'detached'; readonly since: number }
  | { readonly phase: 'over' };

export type SwitchStreamEvent<Harness> =
  | { readonly type: 'reset' }
  /** The harness has taken every frame that waited. */
  | { readonly type: 'drained' }
  /** The connection of the harness is gone. Reliable ends resume on another one. */
  | { readonly type: 'lost'; readonly reliable: boolean; readonly now: number }
  | { readonly type: 'found'; readonly harness: Harness }
  /** The stream was reset at this node or by the harness, or had no harness for too long. */
  | { readonly type: 'ended' };

export function nextStreamState<Harness>(
  state: SwitchStreamState<Harness>,
  event: SwitchStreamEvent<Harness>,
): SwitchStreamState<Harness> {
  switch (event.type) {
    case 'reset':
      if (state.phase === 'attached') return { phase: 'draining', harness: state.harness };
      return state.phase === 'detached' ? OVER : state;
    case 'drained':
      return state.phase === 'draining' ? OVER : state;
    case 'lost':
      if (state.phase === 'attached' && event.reliable) return { phase: 'detached', since: event.now };
      return state.phase === 'detached' ? state : OVER;
    case 'found':
      if (state.phase === 'draining' || state.phase === 'over') return OVER;
      return { phase: 'attached', harness: event.harness };
    case 'ended':
      return OVER;
  }
}

const OVER = { phase: 'over' } as const;
