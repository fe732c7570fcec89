import type { MethodName } from '../protocol/index.ts';
import { Semaphore } from './semaphore.ts';

/**
 * Bounds the requests without an answer. Requests that end a process have slots of their own, so that they do not wait behind requests
 * about that process.
 */
export class RequestSlots {
  readonly #ordinary: Semaphore;
  readonly #control: Semaphore;

  /** `isExtended`: the server is not the reference, which stops reading and writing for good at about 256 requests in flight. */
  constructor(isExtended: boolean) {
    this.#ordinary = new Semaphore(isExtended ? 1024 : 128);
    this.#control = new Semaphore(64);
  }

  take(method: MethodName, signal: AbortSignal | undefined): Promise<Disposable> {
    const isControl = method === 'process/terminate' || method === 'process/signal';
    return (isControl ? this.#control : this.#ordinary).acquire(signal);
  }
}
