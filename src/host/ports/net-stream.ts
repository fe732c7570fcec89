import { Changes } from '../../base/index.ts';
import type { Params, Result } from '../../protocol/index.ts';
import type { Connection, ConnectionEvent } from '../os/index.ts';
import {
  type ClientAudience,
  type InputBudget,
  NumberedOutput,
  OutputFrames,
  RepeatableWrites,
  readResultParts,
} from '../stream/index.ts';
import { connectionFailure } from './connect-errors.ts';
import { next, type StreamEvent, type StreamState } from './state.ts';

export interface StreamBytes {
  fromPorts: number;
  toPorts: number;
}

export interface NetStreamOptions {
  readonly streamId: string;
  readonly connection: Connection;
  readonly audience: ClientAudience;
  /** The bytes that are kept of what has arrived. */
  readonly retainedBytes: number;
  /** What shows that the client has used a chunk. */
  readonly settledBy: 'delivery' | 'client';
  readonly inputBudget: InputBudget;
  /** Counts what goes through streams. */
  readonly bytes: StreamBytes;
  readonly onClosed: () => void;
  /** Called when an event of the connection could not be handled, which is a bug; the stream is closed. */
  readonly onFault: (error: unknown) => void;
}

/** One connection of a session to a port: what arrives is numbered and kept like the output of a process, writes are like those to its stdin. */
export class NetStream implements AsyncDisposable {
  readonly streamId: string;
  readonly openedAtMs = Date.now();
  readonly #connection: Connection;
  readonly #audience: ClientAudience;
  readonly #settledBy: NetStreamOptions['settledBy'];
  readonly #output: NumberedOutput<undefined>;
  readonly #writes: RepeatableWrites;
  readonly #bytes: StreamBytes;
  readonly #changes = new Changes();
  readonly #onClosed: () => void;
  readonly #handled: Promise<void>;
  #state: StreamState = { phase: 'open', isSending: true };

  constructor(options: NetStreamOptions) {
    const { streamId, connection, audience, retainedBytes, settledBy, inputBudget, onClosed, onFault } = options;
    this.streamId = streamId;
    this.#connection = connection;
    this.#audience = audience;
    this.#settledBy = settledBy;
    this.#onClosed = onClosed;
    this.#output = new NumberedOutput<undefined>({
      audience,
      frames: new OutputFrames('net/data', { streamId }),
      retainedBytes,
      changes: this.#changes,
      settledBy,
    });
    this.#writes = new RepeatableWrites(inputBudget);
    this.#bytes = options.bytes;
    this.#handled = this.#handleEvents().catch((error) => {
      onFault(error);
      this.close();
      return this.#apply({ type: 'closed' });
    });
  }

  get phase(): 'open' | 'closed' {
    return this.#state.phase;
  }

  get nextSeq(): number {
    return this.#output.nextSeq;
  }

  /** What arrives is sent at once: only a client that was cut off fetches it, when it resumes. An acknowledgement is about room. */
  readonly hasUnread = false;

  get retainedBytes(): number {
    return this.#output.retainedBytes;
  }

  async #handleEvents(): Promise<void> {
    for await (const event of this.#connection.events) await this.#handle(event);
    await this.#apply({ type: 'closed' });
  }

  async #handle(event: ConnectionEvent): Promise<void> {
    if (event.type === 'output') {
      this.#bytes.fromPorts += event.chunk.byteLength;
      if (!this.#isAbandoned) await this.#output.publish(undefined, event.chunk);
    } else if (event.type === 'inputFailed') {
      await this.#apply({ type: 'failed', error: connectionFailure(event.code) });
    } else if (event.code !== undefined) {
      await this.#apply({ type: 'failed', error: connectionFailure(event.code) });
      this.#connection.close();
    } else if (!this.#isAbandoned) {
      await this.#apply({ type: 'ended', seq: this.#output.nextSeq });
    }
  }

  get #isAbandoned(): boolean {
    return this.#state.phase === 'open' && this.#state.isAbandoned === true;
  }

  /** An event is numbered together with the change of state, so that no reader sees one without the other. */
  async #apply(event: StreamEvent): Promise<void> {
    const before = this.#state;
    this.#state = next(before, event);
    if (this.#state === before) return;
    const announcement = this.#announcement(event);
    this.#changes.notify();
    if (announcement !== undefined) await this.#audience.send(announcement);
    if (event.type === 'closed') this.#onClosed();
  }

  #announcement(event: StreamEvent): string | undefined {
    if (event.type !== 'ended' && event.type !== 'closed') return undefined;
    const { error } = this.#state;
    const params = {
      streamId: this.streamId,
      seq: this.#output.takeNumber(),
      ...(event.type === 'closed' && error !== undefined && { error }),
    };
    return `{"method":"net/${event.type}","params":${JSON.stringify(params)}}`;
  }

  /** Resolves when the write may be answered. */
  async write(writeId: string | undefined, bytes: Uint8Array): Promise<Result<'net/write'>> {
    try {
      if (this.#writes.has(writeId)) await this.#writes.repeat(writeId, bytes);
      else if (this.#state.phase === 'closed' || !this.#state.isSending) return { status: 'closed' };
      else await this.#writeFirst(writeId, bytes);
      return { status: 'accepted' };
    } catch (error) {
      if (!isSystemError(error)) throw error;
      await this.#apply({ type: 'failed', error: connectionFailure(error.code) });
      return { status: 'closed' };
    }
  }

  async #writeFirst(writeId: string | undefined, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return this.#writes.note(writeId);
    this.#bytes.toPorts += bytes.length;
    await this.#writes.write(this.#connection.input, writeId, bytes, (cause) => cause);
  }

  /** Tells the other end, after everything that was written, that no more comes. */
  end(): void {
    if (this.#state.phase === 'closed' || !this.#state.isSending) return;
    this.#state = next(this.#state, { type: 'sent' });
    this.#connection.input.end();
  }

  /** Closes both directions; what was not sent yet, or not fetched, is lost. */
  close(): void {
    this.#state = next(this.#state, { type: 'abandoned' });
    this.#output.endWaiting();
    this.#connection.close();
  }

  /** Notes that the client has used every event up to this number. */
  settle(seq: number): void {
    this.#output.settle(seq);
  }

  /** Resolves when there is something to read, or nothing will come, or the time is over. */
  async readable(params: Params<'net/read'>, signal: AbortSignal): Promise<void> {
    const { afterSeq, waitMs } = params;
    const deadline = performance.now() + (waitMs ?? 0);
    if (this.#settledBy === 'delivery') this.settle(afterSeq ?? 0);
    const hasNews = (): boolean => this.phase === 'closed' || this.nextSeq - 1 > (afterSeq ?? 0);
    while (!hasNews() && !signal.aborted && performance.now() < deadline) {
      await this.#changes.next({ timeoutMs: Math.ceil(deadline - performance.now()), signal });
    }
  }

  /** The parts of a `net/read` result as JSON text; `delivered` must be called when the client has received them. */
  read({ afterSeq, maxBytes }: Params<'net/read'>): { parts: Uint8Array[]; delivered: () => void } {
    const read = this.#output.read(afterSeq ?? 0, maxBytes ?? undefined);
    const { chunks, nextSeq, truncated, oldestSeq, delivered } = read;
    const { phase, endedSeq = null, error = null } = this.#state;
    const rest = { nextSeq, endedSeq, closed: phase === 'closed', error, truncated, oldestSeq };
    return { parts: readResultParts(chunks, rest), delivered };
  }

  /** Resolves when the connection is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.#handled;
  }
}

function isSystemError(error: unknown): error is { readonly code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
