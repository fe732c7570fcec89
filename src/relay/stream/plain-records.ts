import { concatBytes } from '../../base/index.ts';
import { encodeDataFrame, type RelayData } from '../wire/frame.ts';
import { RelayError } from '../wire/relay-error.ts';
import { limits } from './limits.ts';
import { requireMessageLength } from './message-assembler.ts';
import type { OutgoingMessage } from './outgoing-message.ts';
import { LAST_SEQ } from './record-cipher.ts';
import type { FrameHead, Records } from './records.ts';

/** Messages in the clear: each whole in one frame, or in segments where deliveries are acknowledged. */
export class PlainRecords implements Records {
  readonly areNumbered = false;
  #seq = 0;
  /** The segments so far of a message that is not complete, and the number of the first. */
  #segments: Uint8Array[] = [];
  #segmentBytes = 0;
  #first = 0;

  get seq(): number {
    return this.#seq;
  }

  frame(message: OutgoingMessage, head: FrameHead, isAcknowledged: boolean): Uint8Array {
    if (isAcknowledged && this.#seq >= LAST_SEQ) throw new RelayError('the stream has used up its sequence numbers');
    const most = isAcknowledged ? limits.largeRecordBytes : message.length;
    const segmentIndex = message.taken / most;
    const segmentCount = Math.ceil(message.length / most);
    const payload = message.take(most);
    const frame = encodeDataFrame(head, { seq: this.#seq, segmentIndex, segmentCount }, [payload]);
    this.#seq = (this.#seq + 1) >>> 0; // may wrap around: only streams with acknowledgements depend on it
    return concatBytes(frame);
  }

  check({ segmentCount }: RelayData): void {
    if (segmentCount > limits.segments) throw new RelayError(`message of ${segmentCount} segments`);
  }

  read(data: RelayData): Uint8Array[] {
    const message = data.segmentCount === 1 ? data.payload : this.#join(data);
    return message ? [message] : [];
  }

  resetReason(reason: string): string {
    return reason;
  }

  /** Adds a segment and gives the message it completes. */
  #join({ seq, segmentIndex, segmentCount, payload }: RelayData): Uint8Array | undefined {
    const first = (seq - segmentIndex) >>> 0;
    if (segmentIndex === 0) this.#first = first;
    if (segmentIndex !== this.#segments.length || first !== this.#first) throw new RelayError('a segment is missing');
    this.#segments.push(payload);
    this.#segmentBytes += payload.length;
    requireMessageLength(this.#segmentBytes);
    if (this.#segments.length < segmentCount) return undefined;
    this.#segmentBytes = 0;
    return concatBytes(this.#segments.splice(0));
  }
}
