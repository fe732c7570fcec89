import type { Peer } from '../rpc/index.ts';

export interface LivenessOptions {
  readonly peer: Peer;
  readonly intervalMs: number;
  /** Whether the server answers a request while earlier ones of this client are unanswered. */
  readonly answersConcurrently: () => boolean;
  /** Called when the server has left two probes in a row unanswered. */
  readonly onSilence: () => void;
}

/**
 * Detects a silent server on a link that cannot ping, such as that of a browser: when no message has arrived for a while it requests
 * the status of the environment, and any message counts as the answer. A server that handles one request at a time is probed only
 * while no other request is unanswered.
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
    const { peer, answersConcurrently, onSilence } = this.#options;
    if (peer.received !== this.#received || peer.isBusy) {
      this.#received = peer.received;
      this.#unanswered = 0;
    } else if (this.#unanswered >= 2) onSilence();
    else if (this.#unanswered > 0 || peer.pending === 0 || answersConcurrently()) {
      this.#unanswered++;
      peer.call('environment/status', null).catch(() => {}); // an error is an answer too
    }
  }
}
