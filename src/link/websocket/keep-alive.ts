/** Pings a peer, and calls `onSilence` if it does not answer within two intervals. */
export class KeepAlive implements Disposable {
  readonly #ping: () => void;
  readonly #onSilence: () => void;
  readonly #interval: NodeJS.Timeout;
  #deadline: NodeJS.Timeout | undefined;
  #isPaused = false;

  constructor(ping: () => void, onSilence: () => void, intervalMs: number) {
    this.#ping = ping;
    this.#onSilence = onSilence;
    this.#interval = setInterval(() => this.#check(2 * intervalMs), intervalMs).unref();
  }

  answered(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  /** Stops the timer while the connection is not read: an answer would wait in the socket. */
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

  #check(timeoutMs: number): void {
    if (this.#isPaused || this.#deadline !== undefined) return; // one ping at a time
    this.#deadline = setTimeout(this.#onSilence, timeoutMs).unref();
    this.#ping();
  }
}
