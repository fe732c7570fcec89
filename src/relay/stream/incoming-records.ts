import { Changes } from '../../base/index.ts';
import type { Receiver } from '../../rpc/index.ts';
import { RelayError } from '../wire/relay-error.ts';
import { Inbox } from './inbox.ts';
import { limits } from './limits.ts';
import { MessageAssembler } from './message-assembler.ts';
import { type RecordOpener, TAG_BYTES } from './record-cipher.ts';
import { ReorderWindow } from './reorder-window.ts';

/**
 * What happens to a peer that is faster than the application: its records stay in the window, which stops it; the
 * connection is not read for a while; or its stream ends, when it can be slowed down in neither way.
 */
export type Overflow = 'hold' | 'pause' | 'refuse';

export interface IncomingRecordsOptions {
  readonly opener: RecordOpener;
  /** Plaintext of one record. */
  readonly recordBytes: number;
  /** Records that wait for another. */
  readonly limitBytes: number;
  overflow(): Overflow;
  /** Called when records that were held have been taken. */
  onAdvanced(): void;
  /** Called when one of them turns out to be wrong. */
  onFailure(error: RelayError): void;
}

/** The way from records to messages: put in order, decrypted, joined, handed over. */
export class IncomingRecords {
  readonly window: ReorderWindow;
  readonly #options: IncomingRecordsOptions;
  readonly #assembler = new MessageAssembler();
  readonly #inbox = new Inbox(() => this.#roomAgain());
  readonly #room = new Changes();
  #over = false;

  constructor(options: IncomingRecordsOptions) {
    this.#options = options;
    this.window = new ReorderWindow(options.limitBytes);
  }

  open(receive: Receiver): void {
    this.#inbox.open(receive);
  }

  /** Throws a `RelayError` for what ends the stream. */
  take(seq: number, record: Uint8Array): 'expected' | 'early' | 'duplicate' {
    if (record.length > this.#options.recordBytes + TAG_BYTES) throw new RelayError('record is too long');
    const isNext = seq === this.window.next;
    if (!this.window.add(seq, record)) return 'duplicate';
    this.#decrypt();
    return isNext ? 'expected' : 'early';
  }

  /** Resolves once the application has room; nothing if it has. */
  room(): void | Promise<void> {
    if (!this.#hasRoom) return this.#room.next();
  }

  clear(): void {
    this.#over = true;
    this.#inbox.clear();
    this.#room.notify();
  }

  get #hasRoom(): boolean {
    const { overflow } = this.#options;
    return this.#over || this.#inbox.hasRoom(overflow() === 'refuse' ? limits.inboxBytes : limits.slowedInboxBytes);
  }

  #decrypt(): void {
    while (!this.#over && (this.#hasRoom || this.#options.overflow() !== 'hold')) {
      const record = this.window.take();
      if (!record) return;
      for (const message of this.#assembler.push(this.#options.opener.open(record))) this.#hand(message);
    }
  }

  #hand(message: Uint8Array): void {
    if (!this.#hasRoom && this.#options.overflow() === 'refuse') {
      throw new RelayError('the application is slower than the peer');
    }
    this.#inbox.push(message);
  }

  #roomAgain(): void {
    if (this.#hasRoom) this.#room.notify();
    const { next } = this.window;
    try {
      this.#decrypt();
    } catch (error) {
      this.#options.onFailure(error as RelayError);
    }
    if (this.window.next > next) this.#options.onAdvanced();
  }
}
