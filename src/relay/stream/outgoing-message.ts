import { encodeUtf8 } from '../../base/index.ts';
import { requireMessageLength } from './message-assembler.ts';

/** A message that is cut into records, one whenever there is room. */
export class OutgoingMessage {
  readonly onDelivered: (() => void) | undefined;
  readonly #bytes: Uint8Array;
  #taken = 0;

  constructor(message: string | Uint8Array, onDelivered: (() => void) | undefined) {
    this.#bytes = typeof message === 'string' ? encodeUtf8(message) : message;
    this.onDelivered = onDelivered;
    requireMessageLength(this.#bytes.length);
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Bytes that are in records. */
  get taken(): number {
    return this.#taken;
  }

  /** The next bytes, at most `limit`. */
  take(limit: number): Uint8Array {
    const part = this.#bytes.subarray(this.#taken, this.#taken + limit);
    this.#taken += part.length;
    return part;
  }
}
