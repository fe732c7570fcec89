/**
 * The states of a stream that carries messages:
 *
 *   open ──connection lost──▶ suspended ──connected──▶ resuming ──frame arrived──▶ open
 *                                 ▲                        │
 *                                 └────connection lost─────┘
 *   open, suspended, resuming ──close──▶ closing ──everything sent, and acknowledged──▶ closed
 *
 * Only an open stream whose deliveries are acknowledged outlives its connection; any other is closed with it. A reset by the peer and
 * a failure close every stream. Whether deliveries are acknowledged:
 *
 *   offered ──the peer acknowledges──▶ acknowledged
 *      └──the offer lapses: the send window is full, or the plain relay's numbers mean nothing──▶ declined
 */
export type StreamState =
  | { readonly phase: 'open'; readonly delivery: DeliveryMode }
  | { readonly phase: 'suspended' }
  | { readonly phase: 'resuming' }
  | { readonly phase: 'closing'; readonly delivery: DeliveryMode; readonly awaitsAcks: boolean }
  | ClosedStream;

export interface ClosedStream {
  readonly phase: 'closed';
  readonly reason: string;
  /** Whether the peer has to be told with a reset. */
  readonly tellsPeer: boolean;
}

/** `unacknowledged`: acknowledgements were never offered; `declined`: the peer did not accept the offer. */
export type DeliveryMode = 'unacknowledged' | 'offered' | 'declined' | 'acknowledged';

export type StreamEvent =
  | { readonly type: 'peerAcknowledges' }
  | { readonly type: 'offerLapsed' }
  | { readonly type: 'frameArrived' }
  | { readonly type: 'connectionLost'; readonly reason: string }
  | { readonly type: 'connected' }
  | { readonly type: 'close'; readonly awaitsAcks: boolean }
  /** No message waits to be sent. */
  | { readonly type: 'drained'; readonly isAcknowledged: boolean }
  | { readonly type: 'resetReceived' }
  | { readonly type: 'failed'; readonly reason: string };

/** Whether deliveries are acknowledged in this state, by both ends. */
export function isAcknowledged(state: StreamState): boolean {
  return deliveryOf(state) === 'acknowledged';
}

/** The state after an event: the same object where the event changes nothing. */
export function next(state: StreamState, event: StreamEvent): StreamState {
  if (state.phase === 'closed') return state;
  switch (event.type) {
    case 'peerAcknowledges':
      if (deliveryOf(state) === 'declined') return closed('the peer acknowledges deliveries too late');
      return withDelivery(state, 'acknowledged');
    case 'offerLapsed':
      return withDelivery(state, 'declined');
    case 'frameArrived':
      return state.phase === 'resuming' ? { phase: 'open', delivery: 'acknowledged' } : state;
    case 'connected':
      return state.phase === 'suspended' ? { phase: 'resuming' } : state;
    case 'connectionLost':
      return disconnected(state, event.reason);
    case 'close':
      return closing(state, event.awaitsAcks);
    case 'drained':
      return state.phase === 'closing' && (event.isAcknowledged || !waits(state)) ? closed('closed') : state;
    case 'resetReceived':
      return { phase: 'closed', reason: 'reset by the peer', tellsPeer: false };
    case 'failed':
      return closed(event.reason);
  }
}

type Live = Exclude<StreamState, ClosedStream>;

function deliveryOf(state: StreamState): DeliveryMode {
  if (state.phase === 'closed') return 'unacknowledged';
  return state.phase === 'open' || state.phase === 'closing' ? state.delivery : 'acknowledged';
}

/** An offer gets its answer; nothing else changes. */
function withDelivery(state: Live, delivery: DeliveryMode): StreamState {
  return 'delivery' in state && state.delivery === 'offered' ? { ...state, delivery } : state;
}

function disconnected(state: Live, reason: string): StreamState {
  if (state.phase === 'suspended') return state;
  const outlivesIt = state.phase === 'resuming' || (state.phase === 'open' && state.delivery === 'acknowledged');
  return outlivesIt ? { phase: 'suspended' } : { phase: 'closed', reason, tellsPeer: false };
}

/** Two requests to close wait for acknowledgements only if both do. */
function closing(state: Live, awaitsAcks: boolean): StreamState {
  if (state.phase !== 'closing') return { phase: 'closing', delivery: deliveryOf(state), awaitsAcks };
  return state.awaitsAcks && !awaitsAcks ? { ...state, awaitsAcks } : state;
}

const waits = ({ delivery, awaitsAcks }: StreamState & { phase: 'closing' }): boolean =>
  awaitsAcks && delivery === 'acknowledged';

const closed = (reason: string): ClosedStream => ({ phase: 'closed', reason, tellsPeer: true });
