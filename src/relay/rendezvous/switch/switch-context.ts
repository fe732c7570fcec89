import type { Metrics, Series } from '../api/metrics.ts';
import type { Address, Bus } from '../cluster/bus.ts';
import type { Registration } from '../cluster/directory.ts';
import type { RendezvousLimits } from '../limits.ts';
import type { QueueBudget } from './queue-budget.ts';
import type { Direction } from './stream-record.ts';

/** Services and counters that all sockets of a switchboard share. */
export interface SwitchContext {
  readonly bus: Bus;
  readonly limits: RendezvousLimits;
  readonly metrics: Metrics;
  readonly traffic: Readonly<Record<Direction, Traffic>>;
  readonly budget: QueueBudget;
  /** Milliseconds of the monotonic clock. */
  now(): number;
  registration(environmentId: string): Registration | undefined;
  /** Asks the node of the address whether it has a socket there. No answer in time means no. */
  isPresent(address: Address): Promise<boolean>;
}

/** Counters of the frames that go one way. */
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
