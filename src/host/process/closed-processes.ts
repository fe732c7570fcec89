import type { ManagedProcess } from './managed-process.ts';

export interface ClosedProcessesOptions {
  /** How long one is kept for late readers. */
  readonly keepMs: number;
  /** Asks the client for an answer, which shows that it has received all earlier messages. */
  readonly answers: () => Promise<boolean>;
  readonly forget: (process: ManagedProcess) => void;
}

interface Closed {
  readonly process: ManagedProcess;
  forgetAt: number;
  /** Whether `closed` was sent to a client that has not answered since, and so may have missed it. */
  mayBeMissed: boolean;
}

/** The most closed processes that are kept for late readers, so that a client that starts thousands cannot fill the memory. */
const CLOSED_PROCESSES = 8192;
const CLOSED_OUTPUT_BYTES = 64 * 1024 * 1024;

/** The closed processes of a session, which are forgotten some time after their client has learnt of their end. */
export class ClosedProcesses implements Disposable {
  readonly #options: ClosedProcessesOptions;
  /** In the order in which they closed. */
  readonly #closed: Closed[] = [];
  #bytes = 0;
  #attachedAt = 0;
  /** While no client is attached: until when a client can resume the session. */
  #detachedUntil: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ClosedProcessesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#closed.length;
  }

  add(process: ManagedProcess): void {
    const forgetAt = Math.max(performance.now() + this.#options.keepMs, this.#detachedUntil ?? 0);
    this.#closed.push({ process, forgetAt, mayBeMissed: this.#detachedUntil === undefined });
    this.#bytes += process.retainedBytes;
    while (this.#areTooMany()) this.#forgetOldest();
    if (!this.#timer) this.#forgetLater();
  }

  /** To be called when the client is detached: it can resume the session within `forMs`, and read what it may have missed. */
  detached(forMs: number): void {
    const until = performance.now() + forMs;
    this.#detachedUntil = until;
    for (const closed of this.#closed) if (closed.mayBeMissed) closed.forgetAt = Math.max(closed.forgetAt, until);
  }

  /** To be called when a client is attached again: it has the usual time to read what ended meanwhile. */
  attached(): void {
    const detachedUntil = this.#detachedUntil;
    this.#detachedUntil = undefined;
    this.#attachedAt = performance.now();
    for (const closed of this.#closed) {
      if (!closed.mayBeMissed && closed.forgetAt !== detachedUntil) continue;
      closed.mayBeMissed = true;
      closed.forgetAt = this.#attachedAt + this.#options.keepMs;
    }
    this.#forgetLater();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #forgetLater(): void {
    clearTimeout(this.#timer);
    const [first] = this.#closed;
    const waitMs = (first?.forgetAt ?? 0) - performance.now();
    this.#timer = first && setTimeout(() => void this.#forgetDue(), Math.max(0, waitMs)).unref();
  }

  async #forgetDue(): Promise<void> {
    const now = performance.now();
    const isDue = (): boolean => this.#closed[0] !== undefined && this.#closed[0].forgetAt <= now;
    const isMissed = (): boolean => this.#detachedUntil === undefined && this.#closed[0]!.mayBeMissed;
    if (isDue() && isMissed()) await this.#askClient(now);
    while (isDue() && !isMissed()) {
      if (this.#closed[0]!.process.hasUnread) this.#keepOldest();
      else this.#forgetOldest();
    }
    this.#forgetLater();
  }

  /** A client that does not answer may have lost its connection without a close, and resume its session later. */
  async #askClient(now: number): Promise<void> {
    const announced = [...this.#closed];
    const hasAnswered = await this.#options.answers();
    if (this.#attachedAt > now) return; // another client, to which `closed` was not sent
    const forgetAt = performance.now() + this.#options.keepMs;
    for (const closed of announced) {
      if (hasAnswered) closed.mayBeMissed = false;
      else if (closed.forgetAt <= now) closed.forgetAt = forgetAt;
    }
  }

  /** The process that closed last is kept even if its output alone is too large. */
  #areTooMany(): boolean {
    if (this.#closed.length > CLOSED_PROCESSES) return true;
    return this.#bytes > CLOSED_OUTPUT_BYTES && this.#closed.length > 1;
  }

  /** Output that its client has not fetched yet is kept, within the bounds above. */
  #keepOldest(): void {
    this.#closed.push({ ...this.#closed.shift()!, forgetAt: performance.now() + this.#options.keepMs });
  }

  #forgetOldest(): void {
    const { process } = this.#closed.shift()!;
    this.#bytes -= process.retainedBytes;
    this.#options.forget(process);
  }
}
