import type { MethodName } from '../protocol/index.ts';
import { Semaphore } from './semaphore.ts';

/**
 * Bounds the requests without an answer. Those that stop something have slots of their own, so that they are not
 * stuck behind what they stop.
 */
export class RequestSlots {
  readonly #ordinary: Semaphore;
  readonly #control: Semaphore;

  /** The reference stops reading and writing for good at about 256 requests in flight; ours takes all it is given. */
  constructor(isOurs: boolean) {
    this.#ordinary = new Semaphore(isOurs ? 1024 : 128);
    this.#control = new Semaphore(64);
  }

  take(method: MethodName, signal: AbortSignal | undefined): Promise<Disposable> {
    const isControl = method === 'process/terminate' || method === 'process/signal';
    return (isControl ? this.#control : this.#ordinary).acquire(signal);
  }
}
