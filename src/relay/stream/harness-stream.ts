import { randomUUID } from 'node:crypto';
import { type Clock, deferred, encodeUtf8, type Logger, silentLogger, systemClock } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import { decodeFrame, encodeFrame, type RelayBody, type RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { RelayError } from '../wire/relay-error.ts';
import { InitiatorHandshake } from './handshake.ts';
import type { PublicKeyObject, RelayKeys } from './keys.ts';
import { limits } from './limits.ts';
import { NoiseStream } from './noise-stream.ts';

export interface HarnessStreamOptions {
  readonly keys: RelayKeys;
  readonly environmentId: string;
  readonly registrationId: string;
  /** Who must answer. */
  readonly executorKey: PublicKeyObject;
  /** What the registry gave us to show. */
  readonly authorization: string;
  /**
   * Whether to offer acknowledged delivery, which outlives a lost connection; a peer that does not know it overlooks
   * the offer. It takes `reattach`: without it the offer is not made, because a rendezvous keeps such a stream for its
   * return, and a session could not be resumed elsewhere until it gives up.
   */
  readonly reliable?: boolean;
  /** Opens another connection to the same environment, for the same stream. Tried again while it fails. */
  readonly reattach?: (signal: AbortSignal) => Promise<FrameTransport>;
  readonly signal: AbortSignal;
  readonly log?: Logger;
  readonly clock?: Clock;
}

/**
 * Opens the one stream of a harness's connection: resolves when the executor has proved who it is. The stream owns
 * the transport from then on; before that a failure closes it too.
 */
export async function openHarnessStream(transport: FrameTransport, options: HarnessStreamOptions): Promise<Link> {
  const stream = new HarnessStream(options);
  try {
    return await stream.open(transport);
  } catch (error) {
    transport.close();
    throw error;
  }
}

const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 2000;

class HarnessStream {
  readonly #options: HarnessStreamOptions;
  readonly #streamId = randomUUID();
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #offers: boolean;
  readonly #handshake: InitiatorHandshake;
  readonly #opened = deferred<Link>();
  readonly #over = new AbortController();
  #transport: FrameTransport | undefined;
  #stream: NoiseStream | undefined;

  constructor(options: HarnessStreamOptions) {
    this.#options = options;
    this.#opened.promise.catch(() => {}); // it may fail when nobody waits for it yet, or any more
    this.#clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLogger).with({ streamId: this.#streamId });
    this.#offers = (options.reliable ?? true) && options.reattach !== undefined;
    this.#handshake = new InitiatorHandshake(options.keys, options.executorKey, {
      environmentId: options.environmentId,
      registrationId: options.registrationId,
      streamId: this.#streamId,
    });
  }

  async open(transport: FrameTransport): Promise<Link> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    const authorization = encodeUtf8(this.#options.authorization);
    if (authorization.length === 0) throw new RelayError('authorization is empty');
    if (authorization.length > limits.authorizationBytes) throw new RelayError('authorization is too long');
    const refuse = (reason: string) => () => this.#opened.reject(new RelayError(reason));
    const cancelTimeout = this.#clock.after(limits.handshakeMs, refuse('the environment does not answer'));
    const stop = (): void => this.#opened.reject(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      void transport.closed.then(refuse('the connection ended during the handshake'));
      this.#listen(transport);
      this.#send({ type: 'resume', nextSeq: 0 });
      if (this.#offers) this.#send({ type: 'heartbeat' });
      this.#send({ type: 'handshake', payload: this.#handshake.writeMessage1(authorization) });
      return await this.#opened.promise;
    } finally {
      cancelTimeout();
      signal.removeEventListener('abort', stop);
    }
  }

  #listen(transport: FrameTransport): void {
    this.#transport = transport;
    transport.open((bytes) => (this.#transport === transport ? this.#receive(bytes) : undefined));
    void transport.closed.then(() => {
      if (this.#transport === transport) this.#stream?.suspend('the connection was lost');
    });
  }

  #send(body: RelayBody): void {
    void this.#transport?.send(encodeFrame({ streamId: this.#streamId, body }));
  }

  #receive(bytes: Uint8Array): void | Promise<void> {
    try {
      const frame = decodeFrame(bytes);
      if (frame.streamId !== this.#streamId) return;
      if (!this.#stream) return this.#answer(frame);
      if (frame.body.type === 'handshake') throw new RelayError('a second handshake answer');
      return this.#stream.receive(frame);
    } catch (error) {
      this.#opened.reject(error);
      this.#stream?.fail((error as Error).message);
    }
  }

  #answer({ body }: RelayFrame): void {
    if (body.type === 'reset') throw new RelayError('the environment refused the stream');
    if (body.type === 'data') throw new RelayError('data before the handshake is complete');
    if (body.type !== 'handshake') return;
    this.#stream = new NoiseStream({
      streamId: this.#streamId,
      session: this.#handshake.readMessage2(body.payload),
      transport: this.#transport!,
      reliability: this.#offers ? 'offered' : 'none',
      ownsTransport: true,
      clock: this.#clock,
      onSuspended: () => void this.#reattach(),
      onEnd: (reason) => this.#ended(reason),
    });
    this.#opened.resolve(this.#stream);
  }

  async #reattach(): Promise<void> {
    this.#transport = undefined;
    this.#log.info('relay.stream_suspended');
    for (let delayMs = FIRST_RETRY_MS; !this.#over.signal.aborted; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
      try {
        const transport = await this.#options.reattach!(this.#over.signal);
        if (this.#over.signal.aborted) return transport.close();
        this.#listen(transport);
        this.#stream?.attach(transport);
        this.#log.info('relay.stream_reattached');
        return;
      } catch (error) {
        this.#log.debug('relay.reattach_failed', { reason: (error as Error).message });
        await this.#clock.sleep(delayMs, this.#over.signal);
      }
    }
  }

  #ended(reason: string): void {
    this.#log.debug('relay.stream_ended', { reason });
    this.#over.abort();
    this.#transport?.close();
  }
}
