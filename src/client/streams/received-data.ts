import { Changes } from '../../base/index.ts';
import type { ConnectionWaits } from '../connection-waits.ts';

type DataEvent = { readonly seq: number; readonly bytes: Uint8Array };

export interface ReceivedDataOptions {
  readonly windowBytes: number;
  readonly waits: ConnectionWaits;
  /** Tells the server what has been used, so that it sends more. */
  readonly acknowledge: (seq: number) => void;
}

/**
 * What has arrived on a stream and was not read yet. The server sends no more than the window without an acknowledgement, which is
 * sent when a part of the window has been read.
 */
export class ReceivedData {
  readonly #options: ReceivedDataOptions;
  readonly #changes = new Changes();
  #events: DataEvent[] = [];
  #first = 0;
  #usedBytes = 0;
  #isRead = false;
  #end: { readonly failure?: Error | undefined } | undefined;

  constructor(options: ReceivedDataOptions) {
    this.#options = options;
  }

  add(event: DataEvent): void {
    this.#events.push(event);
    this.#changes.notify();
  }

  /** Marks the end, after which reading ends or fails. The first one counts. */
  finish(failure?: Error): void {
    this.#end ??= { failure };
    this.#changes.notify();
  }

  /** Drops what was not read. */
  drop(): void {
    this.#events = [];
    this.#first = 0;
  }

  /** Everything from here to the end, one reader at a time. */
  read(signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    if (this.#isRead) throw new Error('the stream is already being read');
    this.#isRead = true;
    return this.#read(signal);
  }

  async *#read(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, void> {
    try {
      for (;;) {
        signal?.throwIfAborted();
        const event = this.#take();
        if (event) yield event.bytes;
        else if (this.#end?.failure) throw this.#end.failure;
        else if (this.#end) return;
        else await this.#options.waits.during(this.#changes.next({ signal }));
      }
    } finally {
      this.#isRead = false;
    }
  }

  #take(): DataEvent | undefined {
    const event = this.#events[this.#first];
    if (!event) return undefined;
    if (++this.#first === this.#events.length) this.drop();
    this.#usedBytes += event.bytes.length + EVENT_BYTES;
    if (this.#usedBytes >= this.#options.windowBytes / ACKNOWLEDGED_PARTS) {
      this.#usedBytes = 0;
      this.#options.acknowledge(event.seq);
    }
    return event;
  }
}

/** What an event counts beside its bytes: the server has room for so many chunks, and would wait when single bytes have filled that. */
const EVENT_BYTES = 512;
/** An acknowledgement is sent for every fourth of the window: the next arrives before the server has to wait. */
const ACKNOWLEDGED_PARTS = 4;
