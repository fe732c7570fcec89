import type { RelayBody } from '../wire/frame.ts';

/**
 * The way of an encrypted stream into an environment:
 *
 *   unknown ──heartbeat──▶ offered
 *   unknown, offered ──handshake──▶ validating ──vouched for──▶ active ──end of the stream──▶ unknown
 *   validating ──data, second handshake, not vouched for──▶ unknown       (a refusal)
 *   offered, validating ──reset──▶ unknown
 *
 * A frame of a stream that is not known is answered by a reset if its sender waits for something.
 */
export type AdmissionState =
  | { readonly phase: 'unknown' }
  | { readonly phase: 'offered' }
  /** The registry has been asked about the harness; `isOffered` tells whether acknowledged delivery was offered. */
  | { readonly phase: 'validating'; readonly isOffered: boolean }
  | { readonly phase: 'active' };

export type AdmissionEvent =
  | { readonly type: Exclude<RelayBody['type'], 'handshake' | 'resume'> }
  /** `hasRoom`: for another stream, and the budget for failed handshakes is not used up. */
  | { readonly type: 'handshake'; readonly hasRoom: boolean }
  /** `continues`: it is not the first frame of its stream. */
  | { readonly type: 'resume'; readonly continues: boolean }
  | { readonly type: 'vouched'; readonly hasRoom: boolean }
  | { readonly type: 'notVouched' };

/**
 * `validate` examines the handshake and asks the registry, `activate` opens the stream, `pass` hands the frame to it; `reset`
 * tells the harness that there is no such stream, and `refuse` counts as a failure as well.
 */
export type AdmissionAction = 'none' | 'validate' | 'activate' | 'pass' | 'reset' | 'refuse';

export interface AdmissionStep {
  readonly state: AdmissionState;
  readonly action: AdmissionAction;
}

export function admit(state: AdmissionState, event: AdmissionEvent): AdmissionStep {
  switch (state.phase) {
    case 'active':
      return { state, action: event.type === 'handshake' ? 'reset' : isFrame(event) ? 'pass' : 'none' };
    case 'validating':
      return admitValidating(state, event);
    default:
      return admitNew(state, event);
  }
}

const unknown: AdmissionState = { phase: 'unknown' };

function admitValidating(state: AdmissionState & { phase: 'validating' }, event: AdmissionEvent): AdmissionStep {
  switch (event.type) {
    case 'heartbeat':
      return { state: { phase: 'validating', isOffered: true }, action: 'none' };
    case 'handshake':
    case 'data':
    case 'notVouched':
      return { state: unknown, action: 'refuse' };
    case 'vouched':
      return event.hasRoom ? { state: { phase: 'active' }, action: 'activate' } : { state: unknown, action: 'reset' };
    case 'reset':
      return { state: unknown, action: 'none' };
    default:
      return { state, action: 'none' };
  }
}

function admitNew(state: AdmissionState, event: AdmissionEvent): AdmissionStep {
  switch (event.type) {
    case 'heartbeat':
      return { state: { phase: 'offered' }, action: 'none' };
    case 'handshake':
      if (!event.hasRoom) return { state: unknown, action: 'reset' };
      return { state: { phase: 'validating', isOffered: state.phase === 'offered' }, action: 'validate' };
    case 'data':
      return { state: unknown, action: 'reset' };
    case 'resume':
      return { state, action: event.continues ? 'reset' : 'none' };
    case 'reset':
      return { state: unknown, action: 'none' };
    default:
      return { state, action: 'none' };
  }
}

const isFrame = ({ type }: AdmissionEvent): boolean => type !== 'vouched' && type !== 'notVouched';
