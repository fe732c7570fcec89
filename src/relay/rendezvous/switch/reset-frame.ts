import { encodeFrame } from '../../index.ts';
import type { SwitchContext } from './switch-context.ts';

/** The reasons for which the switch itself ends a stream. Both ends read them in the reset. */
export type ResetReason =
  | 'environment_offline'
  | 'frame_lost'
  | 'harness_disconnected'
  | 'slow_consumer'
  | 'stream_in_use'
  | 'stream_limit'
  | 'too_many_handshakes'
  | 'unknown_stream';

/** A reset that this node sends by itself. It is counted. */
export function resetFrame({ metrics }: SwitchContext, streamId: string, reason: ResetReason): Uint8Array {
  metrics.add('rendezvous_resets_total', { reason });
  return encodeFrame({ streamId, body: { type: 'reset', reason } });
}
