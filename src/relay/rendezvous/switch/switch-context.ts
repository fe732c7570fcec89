import { encodeFrame } from '../../index.ts';
import { environmentToken } from '../api/identifiers.ts';
import type { Metrics, Series } from '../api/metrics.ts';
import type { Address, Bus } from '../cluster/bus.ts';
import type { Registration } from '../cluster/directory.ts';
import type { RendezvousLimits } from '../limits.ts';
import type { QueueBudget } from './queue-budget.ts';
import type { Direction } from './stream-record.ts';

/** What the sockets of a switchboard share. */
export interface SwitchContext {
  readonly bus: Bus;
  readonly limits: RendezvousLimits;
  readonly metrics: Metrics;
  readonly traffic: Readonly<Record<Direction, Traffic>>;
  readonly budget: QueueBudget;
  /** Milliseconds of a clock that nobody sets. */
  now(): number;
  registration(environmentId: string): Registration | undefined;
  /** Asks the node whether the address is taken; no answer in time means no. */
  isThere(address: Address): Promise<boolean>;
}

/** What went one way. */
export interface Traffic {
  readonly frames: Series;
  readonly bytes: Series;
}

export function countedTraffic(metrics: Metrics): Record<Direction, Traffic> {
  const counted = (direction: string): Traffic => ({
    frames: metrics.series('rendezvous_frames_total', { direction }),
    bytes: metrics.series('rendezvous_bytes_total', { direction }),
  });
  return { toEnvironment: counted('to_environment'), toHarness: counted('to_harness') };
}

export type ResetReason =
  | 'environment_offline'
  | 'frame_lost'
  | 'harness_disconnected'
  | 'slow_consumer'
  | 'stream_in_use'
  | 'stream_limit'
  | 'too_many_handshakes'
  | 'unknown_stream';

/** A reset made here, counted. */
export function resetFrame({ metrics }: SwitchContext, streamId: string, reason: ResetReason): Uint8Array {
  metrics.add('rendezvous_resets_total', { reason });
  return encodeFrame({ streamId, body: { type: 'reset', reason } });
}

export const harnessPlace = (connectionId: string): string => `h.${connectionId}`;

/** Where an environment's node keeps its end of the link with a connection. */
export const environmentPlace = (environmentId: string, epoch: number, connectionId: string): string =>
  `e.${environmentToken(environmentId)}.${epoch}.${connectionId}`;
