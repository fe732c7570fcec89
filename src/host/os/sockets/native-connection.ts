import { constants } from 'node:os';
import { deferred, onAbort } from '../../../base/index.ts';
import { childEventKind } from '../addon.ts';
import type { ChildInput, EncodedChunk } from '../child.ts';
import { ChildEvents } from '../child-events.ts';
import { NativeInput } from '../child-input.ts';
import { outputChunk } from '../chunk.ts';
import { errorName } from '../error-name.ts';
import { type ChildReceiver, type Reactor, reactor } from '../reactor.ts';

export type ConnectTarget =
  | {
      /** 4 or 16 bytes. */
      readonly address: Uint8Array;
      readonly port: number;
      /** The descriptor of a socket that was made in another network, which is taken. */
      readonly socket?: number | undefined;
    }
  | { readonly path: string };

export type ConnectionEvent =
  | { readonly type: 'output'; readonly chunk: EncodedChunk }
  /** Nothing more arrives. The code, such as `ECONNRESET`, is that of a connection that has failed. */
  | { readonly type: 'ended'; readonly code: string | undefined }
  /** What was queued could not be sent. */
  | { readonly type: 'inputFailed'; readonly code: string };

/** A connection to a socket, read and written as the pipes of a child are. */
export interface Connection {
  /** Every event in order, once; taking the next event returns the room of the previous chunk. Ends when both directions have. */
  readonly events: AsyncIterable<ConnectionEvent>;
  /** Its `end` tells the other end that no more is sent. */
  readonly input: ChildInput;
  /** Closes both directions; what has arrived is still delivered. */
  close(): void;
}

/** The kernel refused a connection. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  /** Such as `ECONNREFUSED`. */
  readonly code: string;

  constructor(errno: number) {
    const code = errorName(errno);
    super(`connect ${code}`);
    this.code = code;
  }
}

/** Resolves when the connection is made; rejects with a `ConnectError`, or with the reason of the signal. */
export async function connect(target: ConnectTarget, signal?: AbortSignal): Promise<Connection> {
  signal?.throwIfAborted();
  const native = reactor();
  const id =
    'path' in target
      ? native.addon.connectUnix(target.path)
      : native.addon.connectTcp(target.address, target.port, target.socket ?? -1);
  if (id < 0) throw new ConnectError(-id);
  const connection = new NativeConnection(native, id);
  using _stop = onAbort(signal, (reason) => connection.abandon(reason));
  await connection.made;
  return connection;
}

class NativeConnection implements Connection, ChildReceiver {
  readonly events: ChildEvents<ConnectionEvent>;
  readonly input: NativeInput;
  readonly #reactor: Reactor;
  readonly #id: number;
  readonly #made = deferred<void>();
  #released = false;

  constructor(native: Reactor, id: number) {
    this.#reactor = native;
    this.#id = id;
    this.events = new ChildEvents((event) => this.#grant(event));
    this.input = new NativeInput(native.addon, id, false);
    native.add(id, this);
  }

  get made(): Promise<void> {
    return this.#made.promise;
  }

  close(): void {
    if (!this.#released) this.#reactor.addon.closeOutputs(this.#id);
  }

  /** Ends a connection that is not made yet. */
  abandon(reason: unknown): void {
    this.#made.reject(reason);
    this.close();
  }

  receive(kind: number, _stream: number, value: number | Buffer, byteLength: number): void {
    if (kind === childEventKind.output) {
      this.events.push({ type: 'output', chunk: outputChunk(value as Buffer, byteLength) });
    } else if (kind === childEventKind.ended) {
      this.events.push({ type: 'ended', code: value === 0 ? undefined : errorName(value as number) });
    } else if (kind === childEventKind.drained) {
      this.input.drained();
    } else if (kind === childEventKind.inputFailed) {
      this.input.failed(value as number);
      this.events.push({ type: 'inputFailed', code: errorName(value as number) });
    } else if (kind === childEventKind.connected) {
      if (value === 0) this.#made.resolve();
      else this.#made.reject(new ConnectError(value as number));
    } else if (kind === childEventKind.released) {
      this.#release();
    }
  }

  failed(error: unknown): void {
    this.events.fail(error);
  }

  #grant(event: ConnectionEvent): void {
    if (this.#released || event.type !== 'output') return;
    this.#reactor.addon.grant(this.#id, 0, event.chunk.byteLength);
  }

  #release(): void {
    this.#released = true;
    this.#reactor.remove(this.#id);
    this.input.failed(constants.errno.EPIPE);
    this.events.complete();
  }
}
