import type { ClientAudience } from './client-audience.ts';

export interface ClosedRetentionOptions {
  readonly audience: Pick<ClientAudience, 'answers'>;
  /** How long a closed process or connection stays readable and its id taken. */
  readonly keepMs: number;
  /** Above these the oldest is forgotten; the one that closed last is kept even if it alone is too large. */
  readonly most: { readonly count: number; readonly bytes: number };
  readonly onForgotten: (id: string) => void;
}

interface Closed {
  readonly id: string;
  readonly bytes: number;
  forgetAt: number;
  /** Whether `closed` was sent to a client that has not answered since, and so may have missed it. */
  mayBeMissed: boolean;
}

/** Decides how long closed processes or connections of a session are kept for late readers. */
export class ClosedRetention implements Disposable {
  readonly #options: ClosedRetentionOptions;
  /** In the order in which they closed. */
  readonly #closed: Closed[] = [];
  #bytes = 0;
  #attachedAt = 0;
  /** While no client is attached: until when a client can resume the session. */
  #detachedUntil: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ClosedRetentionOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#closed.length;
  }

  add(id: string, bytes: number): void {
    const forgetAt = Math.max(performance.now() + this.#options.keepMs, this.#detachedUntil ?? 0);
    this.#closed.push({ id, bytes, forgetAt, mayBeMissed: this.#detachedUntil === undefined });
    this.#bytes += bytes;
    while (this.#hasTooMany()) this.#forgetOldest();
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
    while (isDue() && !isMissed()) this.#forgetOldest();
    this.#forgetLater();
  }

  /** A client that does not answer may have lost its connection without a close, and resume its session later. */
  async #askClient(now: number): Promise<void> {
    const announced = [...this.#closed];
    const hasAnswered = await this.#options.audience.answers();
    if (this.#attachedAt > now) return; // another client, to which `closed` was not sent
    const forgetAt = performance.now() + this.#options.keepMs;
    for (const closed of announced) {
      if (hasAnswered) closed.mayBeMissed = false;
      else if (closed.forgetAt <= now) closed.forgetAt = forgetAt;
    }
  }

  #hasTooMany(): boolean {
    const { count, bytes } = this.#options.most;
    if (this.#closed.length > count) return true;
    return this.#bytes > bytes && this.#closed.length > 1;
  }

  #forgetOldest(): void {
    const { id, bytes } = this.#closed.shift()!;
    this.#bytes -= bytes;
    this.#options.onForgotten(id);
  }
}
