import { deferred, encodeUtf8 } from '../../base/index.ts';
import type { Result } from '../../protocol/index.ts';
import { ConnectionLost } from '../../rpc/index.ts';
import type { Calls } from '../calls.ts';
import type { ConnectionWaits } from '../connection-waits.ts';
import { StreamClosedError, StreamGapError } from '../errors.ts';
import { EventFeed } from '../event-feed.ts';
import { OrderedWrites } from '../ordered-writes.ts';
import { ReceivedData } from './received-data.ts';
import { type StreamEvent, StreamOrder } from './stream-event.ts';

/** What to connect to, from the machine that executes. */
export type PortTarget =
  | {
      readonly port: number;
      /** A name or an address; `localhost` unless given. */
      readonly host?: string;
      /** Connects inside the network of this process of the client. */
      readonly processId?: string;
    }
  /** The absolute path of a Unix socket. */
  | { readonly path: string };

/** A port of the machine that executes, with the process of the client that listens there, where it is one. */
export type ListeningPort = Result<'net/ports'>['ports'][number];

export interface PortStreamOptions {
  readonly streamId: string;
  readonly target: PortTarget;
  readonly calls: Calls;
  readonly waits: ConnectionWaits;
  readonly windowBytes: number;
  readonly onOver: () => void;
}

/**
 * A connection from the machine that executes to one of its ports. It survives interruptions of the client's connection: nothing is
 * lost and nothing arrives twice. A stream that is not read makes its other end wait, and nothing else. Disposing it closes it.
 */
export class PortStream implements AsyncIterable<Uint8Array>, AsyncDisposable {
  readonly streamId: string;
  readonly target: PortTarget;
  readonly #calls: Calls;
  readonly #received: ReceivedData;
  readonly #feed: EventFeed<StreamEvent, Result<'net/read'>>;
  readonly #writes = new OrderedWrites((chunk, writeId, signal) => this.#send(chunk, writeId, signal));
  readonly #closed = deferred<Error | undefined>();
  readonly #onOver: () => void;
  #isOpened = false;
  #isOver = false;

  constructor({ streamId, target, calls, waits, windowBytes, onOver }: PortStreamOptions) {
    this.streamId = streamId;
    this.target = target;
    this.#calls = calls;
    this.#onOver = onOver;
    const acknowledge = (seq: number): void => void this.#acknowledge(seq);
    this.#received = new ReceivedData({ windowBytes, waits, acknowledge });
    this.#feed = new EventFeed({
      order: new StreamOrder(),
      read: (afterSeq) => calls.request('net/read', { streamId, afterSeq }),
      gapError: (missing) => new StreamGapError(streamId, missing),
      observer: { event: (event) => this.#apply(event), failed: (failure) => this.fail(failure) },
    });
  }

  get isOpened(): boolean {
    return this.#isOpened;
  }

  /** Resolves when both directions are over: with the reason if the connection has failed, with undefined if it ended in order. */
  get closed(): Promise<Error | undefined> {
    return this.#closed.promise;
  }

  /** What arrives, until the other end ends its side; one reader at a time. */
  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    return this.read();
  }

  /** The same with a signal that ends the reading. */
  read(signal?: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    return this.#received.read(signal);
  }

  /** What arrives, as a stream of the web. Cancelling it closes the connection. */
  get readable(): ReadableStream<Uint8Array> {
    const reader = this.read();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => this.close(),
      },
      { highWaterMark: 0 },
    );
  }

  /** The sending side as a stream of the web. Closing it ends this side, aborting it closes the connection. */
  get writable(): WritableStream<Uint8Array> {
    return new WritableStream<Uint8Array>({
      write: (chunk) => this.write(chunk),
      close: () => this.end(),
      abort: () => this.close(),
    });
  }

  /** Sends in the order of the calls; resolves when the server has taken the bytes, which waits for the other end to read. */
  write(data: Uint8Array | string, signal?: AbortSignal): Promise<void> {
    const bytes = typeof data === 'string' ? encodeUtf8(data) : data;
    return this.#writes.inTurn(() => this.#writes.write(bytes, signal));
  }

  /** Tells the other end, after everything written before, that no more comes. What it sends still arrives. */
  end(signal?: AbortSignal): Promise<void> {
    return this.#writes.inTurn(async () => {
      if (!this.#isOver) await this.#calls.request('net/end', { streamId: this.streamId }, signal);
    });
  }

  /** Closes both directions at once. What was not sent or read yet is lost. */
  async close(): Promise<void> {
    this.#received.drop();
    this.#received.finish();
    if (this.#isOver) return;
    try {
      await this.#calls.request('net/close', { streamId: this.streamId });
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error; // without a connection the server closes it with the session
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Called when the server has answered the open. */
  opened(): void {
    this.#isOpened = true;
  }

  receive(event: StreamEvent): void {
    if (!this.#isOver) this.#feed.receive(event);
  }

  /** Reads the events that were missed while there was no connection. */
  async catchUp(): Promise<void> {
    if (!this.#isOver) await this.#feed.catchUp();
  }

  /** Ends a stream that can no longer be followed. */
  fail(failure: Error): void {
    this.#finish(failure);
  }

  #apply(event: StreamEvent): void {
    if (event.type === 'data') this.#received.add(event);
    else if (event.type === 'ended') this.#received.finish();
    else this.#over(event);
  }

  /** Everything has arrived, so the server need not keep what was not read yet. */
  #over({ seq, error }: StreamEvent & { type: 'closed' }): void {
    void this.#acknowledge(seq);
    this.#finish(error === undefined ? undefined : new StreamClosedError(this.target, error));
  }

  #finish(failure: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#received.finish(failure);
    this.#closed.resolve(failure);
    this.#onOver();
  }

  async #acknowledge(seq: number): Promise<void> {
    if (this.#isOver) return;
    const { streamId } = this;
    await this.#calls.request('net/ack', { streamId, seq }).catch(() => {}); // the stream is over: there is nothing more to send
  }

  async #send(chunk: Uint8Array, writeId: string, signal: AbortSignal | undefined): Promise<void> {
    const { streamId } = this;
    const { status } = await this.#calls.request('net/write', { streamId, writeId, chunk }, signal);
    if (status === 'closed') throw new StreamClosedError(this.target, 'nothing more can be sent');
  }
}

/** The window a client asks for: as much as is read while an acknowledgement is under way. */
export const WINDOW_BYTES = 1024 * 1024;
