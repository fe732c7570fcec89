/** Pings a peer and gives up on one that does not answer. */
export class KeepAlive implements Disposable {
  readonly #ping: () => void;
  readonly #giveUp: () => void;
  readonly #interval: NodeJS.Timeout;
  #patience: NodeJS.Timeout | undefined;
  #isPaused = false;

  constructor(ping: () => void, giveUp: () => void, { intervalMs, patienceMs } = DEFAULT_TIMES) {
    this.#ping = ping;
    this.#giveUp = giveUp;
    this.#interval = setInterval(() => this.#beat(patienceMs), intervalMs);
  }

  answered(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  /** Sends no ping while the socket is not read: the pong would wait in it. */
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

  #beat(patienceMs: number): void {
    if (this.#isPaused || this.#patience !== undefined) return; // one ping at a time
    this.#patience = setTimeout(this.#giveUp, patienceMs);
    this.#ping();
  }
}

const DEFAULT_TIMES = { intervalMs: 30_000, patienceMs: 60_000 };
