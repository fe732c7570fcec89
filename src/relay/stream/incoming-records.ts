import { Changes } from '../../base/index.ts';
import type { Receiver } from '../../rpc/index.ts';
import type { RelayData } from '../wire/frame.ts';
import { RelayError } from '../wire/relay-error.ts';
import { Inbox } from './inbox.ts';
import { limits } from './limits.ts';
import type { Records } from './records.ts';
import { ReorderWindow } from './reorder-window.ts';

/**
 * The treatment of a peer that is faster than the application: `hold` leaves its records in the window, which stops it;
 * `pause` leaves the connection unread for a while; `refuse` ends the stream, where neither can slow the peer down.
 */
export type Overflow = 'hold' | 'pause' | 'refuse';

/** Whether a record was the next one, arrived early, or was dropped: a repetition, or too large to wait until it is next. */
export type Arrival = 'expected' | 'early' | 'useless';

export interface IncomingRecordsOptions {
  readonly records: Records;
  /** Bytes of records that wait for a missing one. */
  readonly limitBytes: number;
  overflow(): Overflow;
  /** Called when records that were held have been taken. */
  onAdvanced(): void;
  /** Called when one of these is invalid. */
  onFailure(error: RelayError): void;
}

/** Turns records into messages: puts them in order, decrypts and joins them, and hands the messages over. */
export class IncomingRecords {
  readonly window: ReorderWindow;
  readonly #options: IncomingRecordsOptions;
  readonly #inbox = new Inbox(() => this.#onRoom());
  readonly #room = new Changes();
  #over = false;

  constructor(options: IncomingRecordsOptions) {
    this.#options = options;
    this.window = new ReorderWindow(options.limitBytes);
  }

  open(receive: Receiver): void {
    this.#inbox.open(receive);
  }

  /** Throws a `RelayError` for a record that ends the stream. */
  take(data: RelayData): Arrival {
    this.#options.records.check(data);
    const isNext = data.seq === this.window.next;
    if (!isNext && data.payload.length > LARGEST_WAITING) return 'useless'; // the peer sends it again
    if (!this.window.add(data)) return 'useless';
    this.#read();
    return isNext ? 'expected' : 'early';
  }

  /** Takes a record in the order of arrival, whatever its number. */
  takeAsNext(data: RelayData): Arrival {
    this.window.skipTo(data.seq);
    return this.take(data);
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

  #read(): void {
    while (!this.#over && (this.#hasRoom || this.#options.overflow() !== 'hold')) {
      const record = this.window.take();
      if (!record) return;
      for (const message of this.#options.records.read(record)) this.#hand(message);
    }
  }

  #hand(message: Uint8Array): void {
    if (!this.#hasRoom && this.#options.overflow() === 'refuse') {
      throw new RelayError('the application is slower than the peer');
    }
    this.#inbox.push(message);
  }

  #onRoom(): void {
    if (this.#hasRoom) this.#room.notify();
    const { next } = this.window;
    try {
      this.#read();
    } catch (error) {
      this.#options.onFailure(error as RelayError);
    }
    if (this.window.next > next) this.#options.onAdvanced();
  }
}

/** A sealed record is never larger; a plain message may be, if it was sent whole before deliveries were acknowledged. */
const LARGEST_WAITING = limits.largeRecordBytes + 16;
