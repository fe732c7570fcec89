import { ExecError, limits } from '../protocol/index.ts';

/** Bounds what the children of one session leave waiting at their inputs, in memory, while they do not read. */
export class InputBudget {
  #waitingBytes = 0;

  /** Counts bytes until the work is done; refuses what would be too much. */
  async during<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const counted = Math.max(bytes, SMALLEST);
    if (this.#waitingBytes + counted > limits.stdinWaitingBytes) {
      throw new ExecError(
        'invalidRequest',
        `${limits.stdinWaitingBytes} bytes wait for processes of this connection to read their stdin; write again when an earlier write is answered`,
      );
    }
    this.#waitingBytes += counted;
    try {
      return await work();
    } finally {
      this.#waitingBytes -= counted;
    }
  }
}

/** What a waiting write costs however short it is. */
const SMALLEST = 1024;
