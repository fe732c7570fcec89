import type { Receiver } from '../../rpc/index.ts';
import { limits } from './limits.ts';

/** Messages on their way to an application that may be busy. */
export class Inbox {
  readonly #onRoom: () => void;
  #waiting: Uint8Array[] = [];
  #bytes = 0;
  #receive: Receiver | undefined;
  #busy = false;

  /** `onRoom` is called when the application has taken messages that had to wait. */
  constructor(onRoom: () => void) {
    this.#onRoom = onRoom;
  }

  /** Whether fewer messages, and fewer than `bytes`, are waiting than allowed. */
  hasRoom(bytes: number): boolean {
    return this.#waiting.length < limits.inboxMessages && this.#bytes < bytes;
  }

  open(receive: Receiver): void {
    this.#receive = receive;
    this.#drain();
  }

  push(message: Uint8Array): void {
    const isIdle = this.#receive && !this.#busy && this.#waiting.length === 0;
    if (isIdle) this.#hand(message);
    else {
      this.#waiting.push(message);
      this.#bytes += message.length;
    }
  }

  /** Drops all messages: the application takes none any more. */
  clear(): void {
    this.#waiting = [];
    this.#bytes = 0;
    this.#receive = () => {};
  }

  #drain(): void {
    let handed = 0;
    while (!this.#busy && handed < this.#waiting.length) {
      const message = this.#waiting[handed++]!;
      this.#bytes -= message.length;
      this.#hand(message);
    }
    this.#waiting.splice(0, handed);
    if (handed > 0) this.#onRoom();
  }

  #hand(message: Uint8Array): void {
    const pending = this.#receive?.(message);
    if (!pending) return;
    this.#busy = true;
    void pending.then(() => {
      this.#busy = false;
      this.#drain();
    });
  }
}
