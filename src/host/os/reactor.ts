import { once } from '../../base/index.ts';
import { type Addon, addon, type Batch } from './addon.ts';
import { HEADROOM, TAILROOM } from './chunk.ts';

/** Receives the events of one child from the addon. */
export interface ChildReceiver {
  receive(kind: number, stream: number, value: number | Buffer, byteLength: number): void;
  /** Called when `receive` has thrown, which concerns this child alone. */
  failed(error: unknown): void;
}

/** Delivers the events of the addon's I/O thread to their children. */
export class Reactor {
  readonly addon: Addon;
  readonly #receivers = new Map<number, ChildReceiver>();

  constructor(native: Addon) {
    this.addon = native;
    native.start((batch) => this.#deliver(batch), HEADROOM, TAILROOM);
  }

  add(child: number, receiver: ChildReceiver): void {
    this.#receivers.set(child, receiver);
  }

  remove(child: number): void {
    this.#receivers.delete(child);
  }

  #deliver(batch: Batch): void {
    for (let i = 0; i < batch.length; i += 5) {
      const receiver = this.#receivers.get(batch[i] as number);
      try {
        receiver?.receive(batch[i + 1] as number, batch[i + 2] as number, batch[i + 3]!, batch[i + 4] as number);
      } catch (error) {
        receiver?.failed(error);
      }
    }
  }
}

/** The reactor of this thread, started at the first use. */
export const reactor = once(() => new Reactor(addon()));
