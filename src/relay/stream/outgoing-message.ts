import { encodeUtf8 } from '../../base/index.ts';
import { lengthPrefix, requireMessageLength } from './message-assembler.ts';

/** A message being cut into records, one at a time, when there is room for the next. */
export class OutgoingMessage {
  readonly onDelivered: (() => void) | undefined;
  readonly #bytes: Uint8Array;
  #at = 0;
  #begun = false;

  constructor(message: string | Uint8Array, onDelivered: (() => void) | undefined) {
    this.#bytes = typeof message === 'string' ? encodeUtf8(message) : message;
    this.onDelivered = onDelivered;
    requireMessageLength(this.#bytes.length);
  }

  /** Bytes that are not in a record yet. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** The plaintext of the next record, of so many bytes at most. */
  nextRecord(most: number): Uint8Array[] {
    const parts: Uint8Array[] = this.#begun ? [] : [lengthPrefix(this.#bytes.length)];
    this.#begun = true;
    const end = Math.min(this.#bytes.length, this.#at + most - (parts[0]?.length ?? 0));
    parts.push(this.#bytes.subarray(this.#at, end));
    this.#at = end;
    return parts;
  }
}
