export interface HandshakeLimits {
  /** Waiting for an answer or for their turn. */
  readonly pending: number;
  /** Open, or failed, in the last `windowMs`. */
  readonly uncertain: number;
  readonly windowMs: number;
}

interface Attempt {
  readonly stream: string;
  readonly at: number;
  outcome: 'open' | 'failed';
}

export type Verdict = 'pass' | 'hold' | 'refuse';

/**
 * Lets handshakes through to an executor at a pace that cannot bring it to refuse everybody: some at a time, others wait for
 * their turn, and when most of late have failed, none.
 */
export class HandshakeGate {
  readonly #limits: HandshakeLimits;
  #attempts: Attempt[] = [];
  readonly #held: string[] = [];

  constructor(limits: HandshakeLimits) {
    this.#limits = limits;
  }

  request(stream: string, now: number): Verdict {
    this.#expire(now);
    const failed = this.#attempts.filter(({ outcome }) => outcome === 'failed').length;
    const open = this.#attempts.length - failed;
    if (failed >= this.#limits.uncertain || open + this.#held.length >= this.#limits.pending) return 'refuse';
    if (this.#held.length === 0 && this.#hasRoom) return this.#begin(stream, now);
    this.#held.push(stream);
    return 'hold';
  }

  succeeded(stream: string): void {
    this.#attempts = this.#attempts.filter((attempt) => attempt.stream !== stream || attempt.outcome !== 'open');
  }

  /** Also for a stream that went away meanwhile: its executor is busy with it all the same. */
  failed(stream: string): void {
    for (const attempt of this.#attempts) if (attempt.stream === stream) attempt.outcome = 'failed';
    const held = this.#held.indexOf(stream);
    if (held >= 0) this.#held.splice(held, 1);
  }

  /** Streams whose turn it is now. */
  release(now: number): string[] {
    this.#expire(now);
    const released: string[] = [];
    while (this.#held.length > 0 && this.#hasRoom) {
      const stream = this.#held.shift()!;
      this.#begin(stream, now);
      released.push(stream);
    }
    return released;
  }

  get #hasRoom(): boolean {
    return this.#attempts.length < this.#limits.uncertain;
  }

  #begin(stream: string, at: number): Verdict {
    this.#attempts.push({ stream, at, outcome: 'open' });
    return 'pass';
  }

  #expire(now: number): void {
    this.#attempts = this.#attempts.filter(({ at }) => at > now - this.#limits.windowMs);
  }
}
