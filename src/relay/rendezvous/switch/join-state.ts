/**
 * How a harness socket stands to the node that has its environment's socket:
 *
 *   apart ──join──▶ joining ──opened──▶ joined
 *     ◀──────lost──────┘                   │
 *     ◀──────lost──────────────────────────┘
 *
 *   joining, joined ──join──▶ joining: another attempt, or another node
 *   apart, joining, joined ──ended──▶ ended
 */
export type JoinState<Attempt> =
  | { readonly phase: 'apart' }
  | { readonly phase: 'joining'; readonly attempt: Attempt }
  | { readonly phase: 'joined'; readonly attempt: Attempt }
  | { readonly phase: 'ended' };

export type JoinEvent<Attempt> =
  | { readonly type: 'join'; readonly attempt: Attempt }
  | { readonly type: 'opened' }
  | { readonly type: 'lost' }
  | { readonly type: 'ended' };

export function nextJoinState<Attempt>(state: JoinState<Attempt>, event: JoinEvent<Attempt>): JoinState<Attempt> {
  if (state.phase === 'ended') return state;
  switch (event.type) {
    case 'join':
      return { phase: 'joining', attempt: event.attempt };
    case 'opened':
      return state.phase === 'joining' ? { phase: 'joined', attempt: state.attempt } : state;
    case 'lost':
      return { phase: 'apart' };
    case 'ended':
      return { phase: 'ended' };
  }
}
