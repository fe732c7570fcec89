import { encodeDataFrame, type RelayData } from '../wire/frame.ts';
import type { SealedFrame } from '../wire/frame-transport.ts';
import { RelayError } from '../wire/relay-error.ts';
import type { RecordCiphers } from './handshake.ts';
import { limits } from './limits.ts';
import { lengthPrefix, MessageAssembler } from './message-assembler.ts';
import type { OutgoingMessage } from './outgoing-message.ts';
import { TAG_BYTES } from './record-cipher.ts';
import type { FrameHead, Records } from './records.ts';

/** The reason in every reset, whatever the cause: the reference's only one. */
export const RESET_REASON = 'noise_relay_protocol_error';

/** Encrypted records. Before its first byte a message has its length. */
export class SealedRecords implements Records {
  readonly areNumbered = true;
  readonly #ciphers: RecordCiphers;
  readonly #recordBytes: number;
  readonly #assembler = new MessageAssembler();

  /** `recordBytes` is the largest plaintext the peer may send in one record. */
  constructor(ciphers: RecordCiphers, recordBytes: number) {
    this.#ciphers = ciphers;
    this.#recordBytes = recordBytes;
  }

  get seq(): number {
    return this.#ciphers.sealer.seq;
  }

  frame(message: OutgoingMessage, head: FrameHead, isAcknowledged: boolean): SealedFrame {
    const most = isAcknowledged ? limits.largeRecordBytes : limits.recordBytes;
    const prefix = message.taken === 0 ? [lengthPrefix(message.length)] : [];
    const plaintext = [...prefix, message.take(most - (prefix[0]?.length ?? 0))];
    const { seq } = this;
    return encodeDataFrame(head, { seq, segmentIndex: 0, segmentCount: 1 }, this.#ciphers.sealer.seal(plaintext));
  }

  check({ payload }: RelayData): void {
    if (payload.length > this.#recordBytes + TAG_BYTES) throw new RelayError('record is too long');
  }

  read({ payload }: RelayData): Uint8Array[] {
    return this.#assembler.push(this.#ciphers.opener.open(payload));
  }

  resetReason(): string {
    return RESET_REASON;
  }
}
