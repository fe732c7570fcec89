import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Whether one core can be kept busy without taking it from others or using up the processor time we are granted. */
export function hasCoreToSpare(): boolean {
  return Math.min(availableParallelism(), grantedCores()) >= 2;
}

function grantedCores(): number {
  try {
    return coresOf(readFileSync('/sys/fs/cgroup/cpu.max', 'utf8'));
  } catch {
    return Number.POSITIVE_INFINITY; // no limit that could be seen
  }
}

/** What a limit in the notation of the kernel comes to: so many microseconds, or any number, in so many. */
export function coresOf(limit: string): number {
  const [quota, period] = limit.split(' ').map(Number);
  return Number.isNaN(quota) ? Number.POSITIVE_INFINITY : quota! / period!;
}
