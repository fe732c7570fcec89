/**
 * Whether a launcher that has its order may still be replaced by another one:
 *
 *                overdue                ended
 *      pending ───────────▶ replacing ────────▶ settled
 *       │   │                   │                 ▲  ▲
 *       │   │                   │ disposed        │  │
 *       │   │                   ▼      ended      │  │
 *       │   │               cancelled ────────────┘  │
 *       │   └──────────────── began ─────────────────┤
 *       └────────────────── disposed ────────────────┘
 *
 *      pending    it may not have read the order yet: calls to it are noted, so that they can be repeated
 *      replacing  it is being killed; if it has not read the order by then, another one is started and the calls are repeated
 *      cancelled  it is being killed, and no other one is started
 *      settled    the child is the last one
 */
export type ReplacementState = 'pending' | 'replacing' | 'cancelled' | 'settled';

export type ReplacementEvent =
  /** The launcher has read its order, printed something or exited. */
  | 'began'
  /** The launcher has had enough time to read its order. */
  | 'overdue'
  /** The child is not wanted any more. */
  | 'disposed'
  /** The launcher has been killed, and another one started if one can be. */
  | 'ended';

const TRANSITIONS: Readonly<Record<ReplacementState, Readonly<Partial<Record<ReplacementEvent, ReplacementState>>>>> = {
  pending: { began: 'settled', overdue: 'replacing', disposed: 'settled' },
  replacing: { disposed: 'cancelled', ended: 'settled' },
  cancelled: { ended: 'settled' },
  settled: {},
};

/** An event without a transition changes nothing: a launcher that is being killed exits, for example. */
export function nextReplacementState(state: ReplacementState, event: ReplacementEvent): ReplacementState {
  return TRANSITIONS[state][event] ?? state;
}
