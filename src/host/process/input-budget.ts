import { ExecError, limits } from '../../protocol/index.ts';
import type { ChildInput } from '../os/index.ts';

/**
 * Bounds what waits in memory until the children of one session read it. A write that fits into the queue of its child is
 * answered at once. The answers to others are withheld, and so are all while the queues of all children together hold too
 * much; what would make too much wait so is refused. A child that has taken everything gets a short write in any case: those
 * that do not read stop no others.
 */
export class InputBudget {
  /** Inputs that may have something queued. */
  readonly #inputs = new Set<ChildInput>();
  readonly #withheld = new Account();
  #repeats = 0;

  /** Resolves when the write may be answered. */
  async write(input: ChildInput, bytes: Uint8Array): Promise<void> {
    const { length } = bytes;
    const fits = input.hasRoom(length);
    const isSpare = this.#queuedBytes() + length <= limits.stdinWaitingBytes;
    this.#inputs.add(input);
    if (fits && isSpare) return input.write(bytes);
    if (!fits || input.queued > 0 || length > ALWAYS_TAKEN_BYTES) this.#withheld.requireRoom(length);
    await this.#withheld.during(length, async () => {
      await input.write(bytes);
      if (this.#queuedBytes() > limits.stdinWaitingBytes) await input.taken();
    });
  }

  /**
   * For a write that is answered like an earlier one that waits; its own bytes are not kept. The refusal is another: after
   * `stdinFull` a client writes the same bytes anew, and here they are about to be taken.
   */
  async repeat(earlier: Promise<void>): Promise<void> {
    if (this.#repeats >= MOST_REPEATS) throw new ExecError('invalidRequest', TOO_MANY_REPEATS);
    this.#repeats++;
    try {
      await earlier;
    } finally {
      this.#repeats--;
    }
  }

  #queuedBytes(): number {
    let sum = 0;
    for (const input of this.#inputs) {
      if (input.queued === 0) this.#inputs.delete(input);
      sum += input.queued;
    }
    return sum;
  }
}

/** Bytes of writes without an answer. */
class Account {
  #bytes = 0;

  requireRoom(length: number): void {
    if (this.#bytes + counted(length) > limits.stdinWaitingBytes) throw new ExecError('stdinFull', TOO_MUCH);
  }

  async during(length: number, work: () => Promise<void>): Promise<void> {
    this.#bytes += counted(length);
    try {
      await work();
    } finally {
      this.#bytes -= counted(length);
    }
  }
}

/** A waiting write costs something however short it is. */
const counted = (length: number): number => Math.max(length, 1024);

/** Also of connections that are gone: a client that comes back repeats what it had waiting. */
const MOST_REPEATS = 65_536;
const TOO_MANY_REPEATS = `${MOST_REPEATS} repeated writes of this session wait for their first; wait for an answer`;
const ALWAYS_TAKEN_BYTES = 64 * 1024;
const TOO_MUCH = `${limits.stdinWaitingBytes} bytes wait for processes of this connection to read their stdin; write again when an earlier write is answered`;
