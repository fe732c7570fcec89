import { limits } from '../../protocol/index.ts';
import { type ChildInput, release } from '../os/index.ts';
import type { InputBudget } from './input-budget.ts';
import { WriteIds } from './write-ids.ts';

/** The writes to one input: in order, each id once, within the budget of the session. */
export class RepeatableWrites {
  readonly #budget: InputBudget;
  readonly #ids = new WriteIds(limits.rememberedWriteIds);

  constructor(budget: InputBudget) {
    this.#budget = budget;
  }

  has(writeId: string | undefined): writeId is string {
    return writeId !== undefined && this.#ids.has(writeId);
  }

  /** Gets the answer of the first write with this id, whose bytes are the same. */
  async repeat(writeId: string, bytes: Uint8Array): Promise<void> {
    release(bytes);
    const first = this.#ids.waiting(writeId);
    if (first) await this.#budget.repeat(first);
  }

  /** Notes an id whose write needed no work. */
  note(writeId: string | undefined): void {
    if (writeId !== undefined) this.#ids.add(writeId);
  }

  /** Resolves when the write may be answered. A write that fails may be made again; `failure` makes its error. */
  async write(
    input: ChildInput,
    writeId: string | undefined,
    bytes: Uint8Array,
    failure: (cause: unknown) => unknown,
  ): Promise<void> {
    const written = this.#budget.write(input, bytes).catch((cause) => {
      if (writeId !== undefined) this.#ids.delete(writeId);
      throw failure(cause);
    });
    if (writeId === undefined) return written;
    this.#ids.add(writeId, written);
    try {
      await written;
    } finally {
      this.#ids.settle(writeId);
    }
  }
}
