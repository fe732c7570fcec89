import { ExecError, limits } from '../../protocol/index.ts';
import type { ChildInput } from '../os/index.ts';

/**
 * Bounds the bytes that wait in memory until the children of one session, or the other ends of its connections, read them. A write
 * that fits into the queue of its child is answered at once. Other writes are answered when the child has read enough, and so are all writes while the queues of all
 * children together are too long; a write that would make too many bytes wait for that is refused. A child with an empty queue
 * always gets a short write, so that children that do not read cannot stop the others.
 */
export class InputBudget {
  /** Inputs that may have bytes queued. */
  readonly #inputs = new Set<ChildInput>();
  readonly #unanswered = new UnansweredWrites();
  #repeats = 0;

  /** Resolves when the write may be answered. */
  async write(input: ChildInput, bytes: Uint8Array): Promise<void> {
    const { length } = bytes;
    const fits = input.hasRoom(length);
    const isWithinLimit = this.#queuedBytes() + length <= limits.stdinWaitingBytes;
    this.#inputs.add(input);
    if (fits && isWithinLimit) return input.write(bytes);
    if (!fits || input.queued > 0 || length > ALWAYS_ACCEPTED_BYTES) this.#unanswered.requireRoom(length);
    await this.#unanswered.during(length, async () => {
      await input.write(bytes);
      if (this.#queuedBytes() > limits.stdinWaitingBytes) await input.flushed();
    });
  }

  /**
   * For a repeated write, which gets the answer of the earlier one; its own bytes are not kept. It is not refused by `stdinFull`,
   * after which a client would write the same bytes again, although the earlier write is still under way.
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

/** Counts the bytes of writes that have no answer yet. */
class UnansweredWrites {
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

/** A waiting write takes memory even if it is short. */
const counted = (length: number): number => Math.max(length, 1024);

/** Counts repeats on closed connections too, because a client that resumes its session repeats all writes without an answer. */
const MOST_REPEATS = 65_536;
const TOO_MANY_REPEATS = `${MOST_REPEATS} repeated writes of this session wait for their first; wait for an answer`;
const ALWAYS_ACCEPTED_BYTES = 64 * 1024;
const TOO_MUCH = `${limits.stdinWaitingBytes} bytes wait for processes of this connection to read their stdin; write again when an earlier write is answered`;
