import { Changes } from '../../base/index.ts';
import { limits } from './limits.ts';
import { OutgoingMessage } from './outgoing-message.ts';

/** Messages waiting to be cut into records, and those who wait for room to add more. */
export class Outbox {
  readonly #room = new Changes();
  #messages: OutgoingMessage[] = [];
  #bytes = 0;
  #over = false;

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  push(message: string | Uint8Array, onDelivered: (() => void) | undefined): void {
    const outgoing = new OutgoingMessage(message, onDelivered);
    this.#messages.push(outgoing);
    this.#bytes += outgoing.left;
  }

  /** The plaintext of the next record, and of the message it completes who wants to know of its delivery. */
  nextRecord(most: number): { readonly plaintext: Uint8Array[]; readonly onDelivered: (() => void) | undefined } {
    const message = this.#messages[0]!;
    const before = message.left;
    const plaintext = message.nextRecord(most);
    this.#bytes -= before - message.left;
    if (message.left === 0) this.#messages.shift();
    if (this.#hasRoom) this.#room.notify();
    return { plaintext, onDelivered: message.left === 0 ? message.onDelivered : undefined };
  }

  /** Resolves once there is room for more; nothing if there is. */
  room(): void | Promise<void> {
    if (!this.#hasRoom) return this.#roomAgain();
  }

  clear(): void {
    this.#over = true;
    this.#messages = [];
    this.#room.notify();
  }

  get #hasRoom(): boolean {
    return this.#over || this.#bytes <= limits.outboxBytes;
  }

  async #roomAgain(): Promise<void> {
    while (!this.#hasRoom) await this.#room.next();
  }
}
