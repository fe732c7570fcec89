import { type Clock, decodeUtf8, type Logger, systemClock } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import { decodeFrame, encodeFrame, type RelayBody, type RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { RelayError } from '../wire/relay-error.ts';
import { ResponderHandshake } from './handshake.ts';
import type { PublicKeyObject, RelayKeys } from './keys.ts';
import { limits as defaults } from './limits.ts';
import { NoiseStream, RESET_REASON } from './noise-stream.ts';

export interface EnvironmentLimits {
  readonly activeStreams: number;
  readonly pendingHandshakes: number;
  /** So many failed handshakes over one connection, then none are looked at for so long. */
  readonly handshakeFailures: number;
  readonly coolDownMs: number;
  readonly validationMs: number;
}

/** What is known of a harness that was let in. */
export interface StreamFacts {
  readonly streamId: string;
  readonly harnessKey: PublicKeyObject;
  /** Whether deliveries are acknowledged and the stream outlives a lost connection. */
  readonly reliable: boolean;
}

export interface EnvironmentStreamsOptions {
  readonly keys: RelayKeys;
  readonly environmentId: string;
  readonly registrationId: string;
  /** Asks the registry whether the harness may come in; a rejection means no. */
  validate(key: PublicKeyObject, authorization: string, streamId: string, signal: AbortSignal): Promise<boolean>;
  accept(link: Link, facts: StreamFacts): void;
  readonly limits?: Partial<EnvironmentLimits>;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** A handshake that waits for the registry. */
interface Pending {
  readonly handshake: ResponderHandshake;
  readonly harnessKey: PublicKeyObject;
  readonly stop: AbortController;
  reliable: boolean;
}

/** The streams of all harnesses on the one connection of an environment. No stream ever holds up another. */
export class EnvironmentStreams implements AsyncDisposable {
  readonly #options: EnvironmentStreamsOptions;
  readonly #limits: EnvironmentLimits;
  readonly #clock: Clock;
  readonly #active = new Map<string, NoiseStream>();
  readonly #pending = new Map<string, Pending>();
  /** Streams whose harness has said that it acknowledges deliveries, and nothing else yet. */
  readonly #offers = new Set<string>();
  #transport: FrameTransport | undefined;
  /** Resets sent on a connection that has no room. */
  #lateResets = 0;
  #failures = 0;
  #coolUntil = 0;

  constructor(options: EnvironmentStreamsOptions) {
    this.#options = options;
    this.#limits = { ...defaults, ...options.limits };
    this.#clock = options.clock ?? systemClock;
  }

  get activeStreams(): number {
    return this.#active.size;
  }

  /** Serves a new connection, in place of the one before. Streams that acknowledge deliveries go on there. */
  attach(transport: FrameTransport): void {
    this.detach('replaced by a new connection');
    this.#transport = transport;
    this.#lateResets = 0;
    this.#failures = 0;
    this.#coolUntil = 0;
    transport.open((bytes) => {
      if (this.#transport === transport) this.receive(bytes);
    });
    void transport.closed.then(() => {
      if (this.#transport === transport) this.detach('the connection was lost');
    });
    for (const stream of this.#active.values()) stream.attach(transport);
  }

  /** Lets go of the connection: handshakes and plain streams end, the others wait for the next one. */
  detach(reason: string): void {
    this.#transport = undefined;
    for (const { stop } of this.#pending.values()) stop.abort();
    this.#pending.clear();
    this.#offers.clear();
    for (const stream of [...this.#active.values()]) stream.suspend(reason);
  }

  /** Takes a frame from the connection; whatever is wrong with it harms at most its own stream. */
  receive(bytes: Uint8Array): void {
    let frame: RelayFrame;
    try {
      frame = decodeFrame(bytes);
    } catch (error) {
      this.#options.log.debug('relay.frame_dropped', { reason: (error as Error).message });
      return;
    }
    const { streamId, body } = frame;
    const stream = this.#active.get(streamId);
    if (body.type === 'handshake') this.#handshake(streamId, body.payload);
    else if (stream) void stream.receive(frame);
    else this.#stray(streamId, frame);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of [...this.#active.values()]) stream.fail('the environment stops');
    this.detach('the environment stops');
  }

  /** A frame of a stream that is not active. */
  #stray(streamId: string, { ack, body }: RelayFrame): void {
    const pending = this.#pending.get(streamId);
    if (body.type === 'reset') this.#forget(streamId);
    else if (body.type === 'heartbeat') this.#offered(streamId, pending);
    else if (body.type === 'data' && pending) this.#refuse(streamId, 'data before the handshake is complete');
    else if (body.type === 'data') this.#reset(streamId);
    // Who asks to go on with what we do not know any more must hear of it; the first `resume` of a stream is silent.
    else if (body.type === 'resume' && !pending && (body.nextSeq > 0 || ack)) this.#reset(streamId);
  }

  #offered(streamId: string, pending: Pending | undefined): void {
    if (pending) pending.reliable = true;
    else if (streamId.length <= LONGEST_OFFER) this.#offers.add(streamId);
    const [oldest] = this.#offers;
    if (this.#offers.size > defaults.rememberedOffers) this.#offers.delete(oldest!);
  }

  #handshake(streamId: string, message1: Uint8Array): void {
    const reliable = this.#offers.delete(streamId);
    if (this.#pending.has(streamId)) this.#refuse(streamId, 'a second handshake');
    else if (this.#mayBegin(streamId)) this.#begin(streamId, message1, reliable);
    else this.#reset(streamId);
  }

  /** Looked at before anything is decrypted. An active stream goes on, whoever wants to begin it again. */
  #mayBegin(streamId: string): boolean {
    const hasRoom =
      this.#active.size < this.#limits.activeStreams && this.#pending.size < this.#limits.pendingHandshakes;
    return hasRoom && !this.#active.has(streamId) && this.#clock.now() >= this.#coolUntil;
  }

  #begin(streamId: string, message1: Uint8Array, reliable: boolean): void {
    const { keys, environmentId, registrationId } = this.#options;
    const handshake = new ResponderHandshake(keys, { environmentId, registrationId, streamId });
    try {
      const { key, payload } = handshake.readMessage1(message1);
      const authorization = readAuthorization(payload);
      const pending: Pending = { handshake, harnessKey: key, stop: new AbortController(), reliable };
      this.#pending.set(streamId, pending);
      void this.#validate(streamId, pending, authorization);
    } catch (error) {
      this.#refuse(streamId, (error as Error).message);
    }
  }

  async #validate(streamId: string, pending: Pending, authorization: string): Promise<void> {
    const { stop, harnessKey } = pending;
    const cancel = this.#clock.after(this.#limits.validationMs, () => stop.abort());
    const stopped = new Promise<boolean>((resolve) => stop.signal.addEventListener('abort', () => resolve(false)));
    const valid = this.#options.validate(harnessKey, authorization, streamId, stop.signal).catch(() => false);
    const allowed = await Promise.race([valid, stopped]);
    cancel();
    if (this.#pending.get(streamId) !== pending) return;
    if (!allowed) this.#refuse(streamId, 'the registry does not vouch for the harness');
    else this.#activate(streamId, pending);
  }

  #activate(streamId: string, pending: Pending): void {
    this.#pending.delete(streamId);
    const transport = this.#transport;
    if (!transport || this.#active.size >= this.#limits.activeStreams) this.#reset(streamId);
    else this.#answer(streamId, pending, transport);
  }

  #answer(streamId: string, { handshake, harnessKey, reliable }: Pending, transport: FrameTransport): void {
    let answer: ReturnType<ResponderHandshake['writeMessage2']>;
    try {
      answer = handshake.writeMessage2();
    } catch (error) {
      this.#refuse(streamId, (error as Error).message);
      return;
    }
    void this.#send(streamId, { type: 'handshake', payload: answer.message });
    if (reliable) void this.#send(streamId, { type: 'heartbeat' });
    const log = this.#options.log.with({ streamId });
    const stream: NoiseStream = new NoiseStream({
      streamId,
      session: answer.session,
      transport,
      reliability: reliable ? 'agreed' : 'none',
      ownsTransport: false,
      clock: this.#clock,
      onEnd: (reason) => {
        log.info('relay.stream_ended', { reason });
        if (this.#active.get(streamId) === stream) this.#active.delete(streamId);
      },
    });
    this.#active.set(streamId, stream);
    log.info('relay.stream_opened', { reliable });
    this.#options.accept(stream, { streamId, harnessKey, reliable });
  }

  /** Ends a handshake, which counts against the budget of the connection. */
  #refuse(streamId: string, reason: string): void {
    this.#options.log.warn('relay.handshake_refused', { streamId: streamId.slice(0, LONGEST_OFFER), reason });
    this.#forget(streamId);
    this.#reset(streamId);
    if (++this.#failures < this.#limits.handshakeFailures) return;
    this.#failures = 0;
    this.#coolUntil = this.#clock.now() + this.#limits.coolDownMs;
    this.#options.log.warn('relay.handshakes_paused', { ms: this.#limits.coolDownMs });
  }

  #forget(streamId: string): void {
    const pending = this.#pending.get(streamId);
    this.#pending.delete(streamId);
    this.#offers.delete(streamId);
    pending?.stop.abort();
  }

  /** Only so many at a time: a rendezvous that asks for them and takes none must not fill our memory. */
  #reset(streamId: string): void {
    const transport = this.#transport;
    if (this.#lateResets >= defaults.lateResets) return;
    const room = this.#send(streamId, { type: 'reset', reason: RESET_REASON });
    if (!room) return;
    this.#lateResets++;
    void room.then(() => {
      if (this.#transport === transport) this.#lateResets = 0;
    });
  }

  #send(streamId: string, body: RelayBody): void | Promise<void> {
    return this.#transport?.send(encodeFrame({ streamId, body }));
  }
}

/** Our own streams have names of 36 characters. */
const LONGEST_OFFER = 64;

function readAuthorization(payload: Uint8Array): string {
  if (payload.length > defaults.authorizationBytes) throw new RelayError('authorization is too long');
  try {
    return decodeUtf8(payload);
  } catch {
    throw new RelayError('authorization is not UTF-8'); // the decoder names nothing
  }
}
