import { constants } from 'node:os';
import { type Child, killFamily, PROCESS_MASK } from '../os/index.ts';
import type { ImposedLimits } from './limits/imposed-limits.ts';

/** Waits until the process has closed, its time is over or the signal aborts; tells whether it has closed. */
type Closed = (timeoutMs: number | undefined, signal: AbortSignal) => Promise<boolean>;

export interface TerminationOptions {
  readonly child: Child;
  readonly mark: bigint;
  readonly limits: ImposedLimits | undefined;
  readonly closed: Closed;
}

/** Ends a process and everything it started. */
export class Termination {
  readonly #child: Child;
  readonly #mark: bigint;
  readonly #limits: ImposedLimits | undefined;
  readonly #closed: Closed;

  constructor({ child, mark, limits, closed }: TerminationOptions) {
    this.#child = child;
    this.#mark = mark;
    this.#limits = limits;
    this.#closed = closed;
  }

  /** Sends SIGTERM, and SIGKILL to the family when the process has closed or the time is over. */
  async gracefully(timeoutMs: number): Promise<void> {
    this.#child.signal(constants.signals.SIGTERM);
    await this.#closed(timeoutMs, never());
    await this.byForce();
  }

  async byForce(): Promise<void> {
    this.#child.signal(constants.signals.SIGKILL);
    await this.ofFamily();
    await this.#child.exited;
    // A process outside the family that still holds a pipe end must not keep this one from closing.
    this.#child.closeOutputs();
  }

  /** Kills the descendants, whose last output is still read. */
  async ofFamily(): Promise<void> {
    this.#limits?.kill();
    await killFamily(this.#mark, PROCESS_MASK);
  }

  /** Sends SIGTERM, and SIGKILL when the signal aborts; resolves when the process has closed, or soon after SIGKILL. */
  async until(signal: AbortSignal, onFault: (error: unknown) => void): Promise<void> {
    this.#child.signal(constants.signals.SIGTERM);
    if (await this.#closed(undefined, signal)) return;
    this.byForce().catch(onFault);
    await this.#closed(FORCED_END_MS, never());
  }
}

const never = (): AbortSignal => new AbortController().signal;

/** The time limit for the last output of a killed process. */
const FORCED_END_MS = 500;
