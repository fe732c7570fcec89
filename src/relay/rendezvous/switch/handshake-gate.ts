export interface HandshakeLimits {
  /** Handshakes that wait for an answer or for their turn. */
  readonly pending: number;
  /** Handshakes of the last `windowMs` that are unanswered or have failed. */
  readonly uncertain: number;
  readonly windowMs: number;
}

/** A handshake that the environment has been sent. One that succeeds is forgotten. */
interface RecentHandshake {
  readonly stream: string;
  readonly at: number;
  readonly state: 'unanswered' | 'failed';
}

/** A handshake that waits for its turn. */
export interface HeldHandshake {
  readonly stream: string;
  readonly frame: Uint8Array;
}

export type HandshakeVerdict = 'pass' | 'hold' | 'refuse';

/**
 * An executor refuses every handshake after some have failed. The gate lets through so few at a time that harnesses cannot bring it to
 * that: the others wait for their turn, and none passes while most recent ones have failed.
 */
export class HandshakeGate {
  readonly #limits: HandshakeLimits;
  #recent: readonly RecentHandshake[] = [];
  #held: readonly HeldHandshake[] = [];

  constructor(limits: HandshakeLimits) {
    this.#limits = limits;
  }

  request(stream: string, frame: Uint8Array, now: number): HandshakeVerdict {
    this.#expire(now);
    const failed = this.#recent.filter(({ state }) => state === 'failed').length;
    const unanswered = this.#recent.length - failed;
    if (failed >= this.#limits.uncertain || unanswered + this.#held.length >= this.#limits.pending) return 'refuse';
    if (this.#held.length === 0 && this.#hasRoom) return this.#begin(stream, now);
    this.#held = [...this.#held.filter((held) => held.stream !== stream), { stream, frame }];
    return 'hold';
  }

  succeeded(stream: string): void {
    this.#recent = this.#recent.filter((recent) => recent.stream !== stream || recent.state === 'failed');
  }

  /** Counts an unanswered handshake of a stream that ended as well: the executor is busy with it all the same. */
  failed(stream: string): void {
    this.#recent = this.#recent.map((recent) => (recent.stream === stream ? { ...recent, state: 'failed' } : recent));
    this.#held = this.#held.filter((held) => held.stream !== stream);
  }

  /** The handshakes whose turn it is now, the oldest first. */
  release(now: number): HeldHandshake[] {
    this.#expire(now);
    const released: HeldHandshake[] = [];
    for (const held of this.#held) {
      if (!this.#hasRoom) break;
      this.#begin(held.stream, now);
      released.push(held);
    }
    this.#held = this.#held.slice(released.length);
    return released;
  }

  get #hasRoom(): boolean {
    return this.#recent.length < this.#limits.uncertain;
  }

  #begin(stream: string, at: number): HandshakeVerdict {
    this.#recent = [...this.#recent, { stream, at, state: 'unanswered' }];
    return 'pass';
  }

  #expire(now: number): void {
    this.#recent = this.#recent.filter(({ at }) => at > now - this.#limits.windowMs);
  }
}
