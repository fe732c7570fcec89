/** Pings a peer and gives up on one that does not answer within two intervals. */
export class KeepAlive implements Disposable {
  readonly #ping: () => void;
  readonly #giveUp: () => void;
  readonly #interval: NodeJS.Timeout;
  #patience: NodeJS.Timeout | undefined;
  #isPaused = false;

  constructor(ping: () => void, giveUp: () => void, intervalMs: number) {
    this.#ping = ping;
    this.#giveUp = giveUp;
    this.#interval = setInterval(() => this.#check(2 * intervalMs), intervalMs).unref();
  }

  answered(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  /** Expects no answer while the connection is not read: it would wait in the socket. */
  pause(): void {
    this.#isPaused = true;
    this.answered();
  }

  resume(): void {
    this.#isPaused = false;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#interval);
    this.answered();
  }

  #check(patienceMs: number): void {
    if (this.#isPaused || this.#patience !== undefined) return; // one ping at a time
    this.#patience = setTimeout(this.#giveUp, patienceMs).unref();
    this.#ping();
  }
}
