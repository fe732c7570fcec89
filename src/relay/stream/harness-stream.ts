import { type Clock, deferred, encodeUtf8, type Logger, onAbort } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import type { RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { RelayError } from '../wire/relay-error.ts';
import { InitiatorHandshake } from './handshake.ts';
import { HarnessConnection, type Reattach } from './harness-connection.ts';
import { type HarnessEvent, type HarnessState, next } from './harness-state.ts';
import type { PublicKeyObject, RelayKeys } from './keys.ts';
import { limits } from './limits.ts';
import { RelayStream } from './relay-stream.ts';
import { SealedRecords } from './sealed-records.ts';

export interface HarnessStreamOptions {
  readonly keys: RelayKeys;
  readonly environmentId: string;
  readonly registrationId: string;
  /** The key that the answer has to prove. */
  readonly executorKey: PublicKeyObject;
  /** The token of the registry that the environment asks for. */
  readonly authorization: string;
  /**
   * Whether to offer acknowledged delivery, which outlives a lost connection; a peer that does not know it ignores
   * the offer. Without `reattach` the offer is not made: a rendezvous would keep such a stream for a harness that never returns, and
   * the session could not be resumed on another stream before the rendezvous gives up.
   */
  readonly reliable?: boolean;
  readonly reattach?: Reattach;
  readonly signal: AbortSignal;
  readonly log?: Logger;
  readonly clock?: Clock;
}

/**
 * Opens the one stream of a harness's connection: resolves when the executor has proved its key. The stream owns the
 * transport from then on; before that a failure closes it too.
 */
export async function openHarnessStream(transport: FrameTransport, options: HarnessStreamOptions): Promise<Link> {
  try {
    return await new HarnessHandshake(transport, options).complete();
  } catch (error) {
    transport.close();
    throw error;
  }
}

/** A harness's end of an encrypted stream, until it is open; its states are in `harness-state.ts`. */
class HarnessHandshake {
  readonly #options: HarnessStreamOptions;
  readonly #transport: FrameTransport;
  readonly #connection: HarnessConnection;
  readonly #handshake: InitiatorHandshake;
  readonly #offers: boolean;
  readonly #opened = deferred<Link>();
  #state: HarnessState = { phase: 'handshaking' };
  #stream: RelayStream | undefined;

  constructor(transport: FrameTransport, options: HarnessStreamOptions) {
    this.#options = options;
    this.#transport = transport;
    this.#opened.promise.catch(() => {}); // may reject before or after `complete` awaits it
    this.#offers = (options.reliable ?? true) && options.reattach !== undefined;
    this.#connection = new HarnessConnection(transport, {
      reattach: options.reattach,
      clock: options.clock,
      log: options.log,
      receive: (frame) => this.#receive(frame),
      onFailure: (error) => this.#fail(error),
    });
    this.#handshake = new InitiatorHandshake(options.keys, options.executorKey, {
      environmentId: options.environmentId,
      registrationId: options.registrationId,
      streamId: this.#connection.streamId,
    });
  }

  async complete(): Promise<Link> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    const authorization = encodeUtf8(this.#options.authorization);
    if (authorization.length === 0) throw new RelayError('authorization is empty');
    if (authorization.length > limits.authorizationBytes) throw new RelayError('authorization is too long');
    const connection = this.#connection;
    const cancelTimeout = connection.clock.after(limits.handshakeMs, () => this.#apply('timeout'));
    using _stopping = onAbort(signal, (reason) => this.#opened.reject(reason));
    try {
      void this.#transport.closed.then(() => this.#apply('connectionLost'));
      connection.open();
      connection.send({ type: 'resume', nextSeq: 0 });
      if (this.#offers) connection.send({ type: 'heartbeat' });
      connection.send({ type: 'handshake', payload: this.#handshake.writeMessage1(authorization) });
      return await this.#opened.promise;
    } finally {
      cancelTimeout();
    }
  }

  #receive(frame: RelayFrame): void | Promise<void> {
    const { body } = frame;
    const wasOpen = this.#state.phase === 'open';
    this.#apply(body.type);
    if (wasOpen && this.#state.phase === 'open') return this.#stream?.receive(frame);
    if (this.#state.phase === 'open' && body.type === 'handshake') this.#open(body.payload);
  }

  #apply(event: HarnessEvent): void {
    const before = this.#state;
    this.#state = next(before, event);
    if (this.#state !== before && this.#state.phase === 'failed') this.#fail(new RelayError(this.#state.reason));
  }

  #open(message2: Uint8Array): void {
    const ciphers = this.#handshake.readMessage2(message2);
    const delivery = this.#offers ? 'offered' : 'unacknowledged';
    const records = new SealedRecords(ciphers, this.#offers ? limits.largeRecordBytes : limits.recordBytes);
    const { streamOptions } = this.#connection;
    this.#stream = this.#connection.carry(new RelayStream({ ...streamOptions, records, delivery }));
    this.#opened.resolve(this.#stream);
  }

  #fail(error: Error): void {
    this.#state = { phase: 'failed', reason: error.message };
    this.#opened.reject(error);
    this.#stream?.fail(error.message);
  }
}
