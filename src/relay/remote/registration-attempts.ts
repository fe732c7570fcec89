import { type Clock, Deadline, type Logger } from '../../base/index.ts';
import { Backoff } from './backoff.ts';
import { RegistryError } from './registry-error.ts';

export interface RegistrationAttemptsOptions<T> {
  readonly register: (signal: AbortSignal) => Promise<T>;
  /** Whether another attempt makes sense after this failure. */
  readonly isWorthRetrying: (error: unknown) => boolean;
  readonly timeoutMs?: number | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Registers, with as many attempts as it takes. The pause between two is at least as long as the registry asks for. */
export async function registerPersistently<T>(options: RegistrationAttemptsOptions<T>, signal: AbortSignal) {
  const { register, isWorthRetrying, timeoutMs, clock, log } = options;
  using deadline = new Deadline(timeoutMs, signal);
  const backoff = new Backoff(clock);
  let reason: Error | undefined;
  for (;;) {
    try {
      return await register(deadline.signal);
    } catch (error) {
      if (!deadline.signal.aborted) {
        if (!isWorthRetrying(error)) throw error;
        reason = error as Error;
        const delayMs = Math.max(backoff.nextMs(), askedFor(error));
        log.warn('environment.registration_failed', { error: reason.message, retryInMs: Math.round(delayMs) });
        await clock.sleep(delayMs, deadline.signal);
      }
      if (deadline.signal.aborted) throw reason ?? error; // the last failure says more than the timeout
    }
  }
}

/** Bounds the pause that a registry can ask for. */
const LONGEST_WAIT_MS = 300_000;

function askedFor(error: unknown): number {
  const { retryAfterMs = 0 } = error instanceof RegistryError ? error : {};
  return Math.min(retryAfterMs, LONGEST_WAIT_MS);
}

/** Whether the first registration is tried again. A refusal is a mistake of the operator, who should learn of it at once. */
export function isTransient(error: unknown): boolean {
  return error instanceof RegistryError && (error.isTransient || error.status === 409);
}
