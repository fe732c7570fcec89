import type { Clock } from '../../base/index.ts';

/** Bounds the failed handshakes of one connection: after so many, none are examined for a while. */
export class HandshakeBudget {
  readonly #clock: Clock;
  readonly #limits: { readonly handshakeFailures: number; readonly coolDownMs: number };
  #failures = 0;
  #coolUntil = 0;

  constructor(clock: Clock, limits: { readonly handshakeFailures: number; readonly coolDownMs: number }) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get isUsedUp(): boolean {
    return this.#clock.now() < this.#coolUntil;
  }

  /** Counts a failure; true if it was the last one allowed. */
  failed(): boolean {
    if (++this.#failures < this.#limits.handshakeFailures) return false;
    this.#failures = 0;
    this.#coolUntil = this.#clock.now() + this.#limits.coolDownMs;
    return true;
  }

  /** Starts again, for a new connection. */
  reset(): void {
    this.#failures = 0;
    this.#coolUntil = 0;
  }
}
