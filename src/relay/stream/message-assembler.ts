import { concatBytes } from '../../base/index.ts';
import { RelayError } from '../wire/relay-error.ts';
import { limits } from './limits.ts';

const LENGTH_BYTES = 4;

/** Finds the messages in the records of one direction: each is its length in four bytes, then itself. */
export class MessageAssembler {
  /** Of a length or a message that goes on in the next record. */
  #parts: Uint8Array[] = [];
  #held = 0;
  /** The length of the message that has begun, once it is known. */
  #length: number | undefined;

  /** Takes the next record and gives the messages it completes. A message within one record is not copied. */
  push(record: Uint8Array): Uint8Array[] {
    const messages: Uint8Array[] = [];
    let at = 0;
    while (at < record.length) {
      const wanted = (this.#length ?? LENGTH_BYTES) - this.#held;
      const part = record.subarray(at, at + wanted);
      at += part.length;
      if (part.length < wanted) {
        this.#parts.push(part);
        this.#held += part.length;
        break;
      }
      const whole = this.#complete(part);
      if (this.#length === undefined) this.#length = messageLength(whole);
      else {
        messages.push(whole);
        this.#length = undefined;
      }
    }
    return messages;
  }

  #complete(last: Uint8Array): Uint8Array {
    if (this.#held === 0) return last;
    const whole = concatBytes([...this.#parts, last]);
    this.#parts = [];
    this.#held = 0;
    return whole;
  }
}

/** The length before a message. */
export function lengthPrefix(length: number): Uint8Array {
  const prefix = Buffer.allocUnsafe(LENGTH_BYTES);
  prefix.writeUInt32BE(length);
  return prefix;
}

function messageLength(prefix: Uint8Array): number {
  const length = new DataView(prefix.buffer, prefix.byteOffset, LENGTH_BYTES).getUint32(0);
  requireMessageLength(length);
  return length;
}

export function requireMessageLength(length: number): void {
  if (length === 0) throw new RelayError('message is empty');
  if (length > limits.messageBytes) {
    throw new RelayError(`message of ${length} bytes is larger than the ${limits.messageBytes} a relay carries`);
  }
}
