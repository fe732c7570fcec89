import type { Peer } from '../rpc/index.ts';

export interface LivenessOptions {
  readonly peer: Peer;
  readonly intervalMs: number;
  /** Whether the server answers a question while others of this client are unanswered. */
  readonly answersAside: () => boolean;
  /** Called when the server has left two questions in a row unanswered. */
  readonly onSilence: () => void;
}

/**
 * Notices a silent server on a link that cannot ping, such as that of a browser: when nothing has come for a while it asks
 * for the status of the environment, and any message counts as the answer. A server that works on one request at a time is
 * asked only while it has nothing else to answer.
 */
export class Liveness implements Disposable {
  readonly #options: LivenessOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #received = 0;
  #unanswered = 0;

  constructor(options: LivenessOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#check(), options.intervalMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { peer, answersAside, onSilence } = this.#options;
    if (peer.received !== this.#received || peer.isBusy) {
      this.#received = peer.received;
      this.#unanswered = 0;
    } else if (this.#unanswered >= 2) onSilence();
    else if (this.#unanswered > 0 || peer.pending === 0 || answersAside()) {
      this.#unanswered++;
      peer.call('environment/status', null).catch(() => {}); // a refusal is an answer too
    }
  }
}
