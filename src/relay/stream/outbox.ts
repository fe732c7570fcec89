import { Changes } from '../../base/index.ts';
import { limits } from './limits.ts';
import { OutgoingMessage } from './outgoing-message.ts';

/** Messages that wait to be cut into records, and senders that wait for room to add more. */
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
    this.#bytes += outgoing.length;
  }

  /** Cuts a record from the first message. The last record of a message comes with the callback for its delivery. */
  cut<T>(record: (message: OutgoingMessage) => T): { readonly record: T; readonly onDelivered?: () => void } {
    const message = this.#messages[0]!;
    const before = message.taken;
    const result = record(message);
    this.#bytes -= message.taken - before;
    const isComplete = message.taken === message.length;
    if (isComplete) this.#messages.shift();
    if (this.#hasRoom) this.#room.notify();
    return { record: result, ...(isComplete && message.onDelivered && { onDelivered: message.onDelivered }) };
  }

  /** Resolves once there is room for more; undefined if there is room now. */
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
