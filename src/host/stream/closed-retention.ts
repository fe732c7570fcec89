/** A process or connection that has closed. */
export interface ClosedOutput {
  readonly retainedBytes: number;
  /** Whether the client has not fetched all of its output. */
  readonly hasUnread: boolean;
}

export interface ClosedRetentionOptions<T extends ClosedOutput> {
  /** How long one is kept for late readers. */
  readonly keepMs: number;
  /** Asks the client for an answer, which shows that it has received all earlier messages. */
  readonly answers: () => Promise<boolean>;
  readonly forget: (closed: T) => void;
  /** The most that are kept, so that a client that opens thousands cannot fill the memory. The one that closed last is kept in any case. */
  readonly most: { readonly count: number; readonly bytes: number };
}

interface Closed<T> {
  readonly output: T;
  forgetAt: number;
  /** Whether `closed` was sent to a client that has not answered since, and so may have missed it. */
  mayBeMissed: boolean;
}

/** The closed processes or connections of a session, which are forgotten some time after their client has learnt of their end. */
export class ClosedRetention<T extends ClosedOutput> implements Disposable {
  readonly #options: ClosedRetentionOptions<T>;
  /** In the order in which they closed. */
  readonly #closed: Closed<T>[] = [];
  #bytes = 0;
  #attachedAt = 0;
  /** While no client is attached: until when a client can resume the session. */
  #detachedUntil: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ClosedRetentionOptions<T>) {
    this.#options = options;
  }

  get count(): number {
    return this.#closed.length;
  }

  add(output: T): void {
    const forgetAt = Math.max(performance.now() + this.#options.keepMs, this.#detachedUntil ?? 0);
    this.#closed.push({ output, forgetAt, mayBeMissed: this.#detachedUntil === undefined });
    this.#bytes += output.retainedBytes;
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
      if (this.#closed[0]!.output.hasUnread) this.#keepOldest();
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

  #areTooMany(): boolean {
    const { count, bytes } = this.#options.most;
    return this.#closed.length > count || (this.#bytes > bytes && this.#closed.length > 1);
  }

  /** Output that its client has not fetched yet is kept, within the bounds above. */
  #keepOldest(): void {
    this.#closed.push({ ...this.#closed.shift()!, forgetAt: performance.now() + this.#options.keepMs });
  }

  #forgetOldest(): void {
    const { output } = this.#closed.shift()!;
    this.#bytes -= output.retainedBytes;
    this.#options.forget(output);
  }
}
