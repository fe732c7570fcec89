import type { MethodName } from '../protocol/index.ts';
import { Semaphore } from './semaphore.ts';

/**
 * Bounds the requests without an answer. Requests that end a process have slots of their own, so that they do not wait behind requests
 * about that process.
 */
export class RequestSlots {
  readonly #ordinary: Semaphore;
  readonly #control: Semaphore;
  /** Reads wait for output, on servers where that delays nothing else. */
  readonly #reads: Semaphore;

  /** `isExtended`: the server is not the reference, which stops reading and writing for good at about 256 requests in flight. */
  constructor(isExtended: boolean) {
    this.#ordinary = new Semaphore(isExtended ? 1024 : 128);
    this.#control = new Semaphore(64);
    this.#reads = isExtended ? new Semaphore(1024) : this.#ordinary;
  }

  take(method: MethodName, signal: AbortSignal | undefined): Promise<Disposable> {
    const isControl = method === 'process/terminate' || method === 'process/signal';
    const waits = method === 'process/read' ? this.#reads : this.#ordinary;
    return (isControl ? this.#control : waits).acquire(signal);
  }
}
