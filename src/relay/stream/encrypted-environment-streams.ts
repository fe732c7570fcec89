import { abortable, type Clock, decodeUtf8, type Logger, systemClock } from '../../base/index.ts';
import type { Link } from '../../rpc/index.ts';
import type { RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { RelayError } from '../wire/relay-error.ts';
import { type AdmissionAction, type AdmissionEvent, type AdmissionState, admit } from './admission.ts';
import { EnvironmentConnection } from './environment-connection.ts';
import { type RecordCiphers, ResponderHandshake } from './handshake.ts';
import { HandshakeBudget } from './handshake-budget.ts';
import type { PublicKeyObject, RelayKeys } from './keys.ts';
import { limits as defaults } from './limits.ts';
import { RESET_REASON, SealedRecords } from './sealed-records.ts';

export interface EnvironmentLimits {
  readonly activeStreams: number;
  readonly pendingHandshakes: number;
  /** After so many failed handshakes over one connection, none are examined for so long. */
  readonly handshakeFailures: number;
  readonly coolDownMs: number;
  readonly validationMs: number;
}

/** What a registry tells of a harness beside that it vouches for it; others than ours tell nothing. */
export type HarnessFacts = Readonly<Record<string, unknown>>;

/** A stream of a harness that was admitted. */
export interface StreamFacts {
  readonly streamId: string;
  readonly harnessKey: PublicKeyObject;
  /** Whether deliveries are acknowledged and the stream outlives a lost connection. */
  readonly reliable: boolean;
  readonly harness: HarnessFacts;
}

export interface EncryptedEnvironmentOptions {
  readonly keys: RelayKeys;
  readonly environmentId: string;
  readonly registrationId: string;
  /** Asks the registry whether the harness may connect, and what its token is good for; a rejection means no. */
  validate(
    key: PublicKeyObject,
    authorization: string,
    streamId: string,
    signal: AbortSignal,
  ): Promise<HarnessFacts | boolean>;
  accept(link: Link, facts: StreamFacts): void;
  readonly limits?: Partial<EnvironmentLimits>;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** A stream that is not active yet. */
interface PendingStream {
  readonly state: AdmissionState;
  /** While the registry is being asked. */
  readonly validation?: Validation;
}

interface Validation {
  readonly handshake: ResponderHandshake;
  readonly harnessKey: PublicKeyObject;
  readonly stop: AbortController;
}

/** The encrypted streams of all harnesses of an environment; `admission.ts` has the states of a stream until it is active. */
export class EncryptedEnvironmentStreams implements AsyncDisposable {
  readonly #options: EncryptedEnvironmentOptions;
  readonly #limits: EnvironmentLimits;
  readonly #clock: Clock;
  readonly #connection: EnvironmentConnection;
  readonly #budget: HandshakeBudget;
  readonly #pending = new Map<string, PendingStream>();

  constructor(options: EncryptedEnvironmentOptions) {
    this.#options = options;
    this.#limits = { ...defaults, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#budget = new HandshakeBudget(this.#clock, this.#limits);
    const receive = (frame: RelayFrame): void => this.#receive(frame);
    this.#connection = new EnvironmentConnection({ clock: this.#clock, log: options.log, receive });
  }

  get activeStreams(): number {
    return this.#connection.size;
  }

  /** Serves a new connection, in place of the one before. Streams that acknowledge deliveries go on there. */
  attach(transport: FrameTransport): void {
    this.detach('replaced by a new connection');
    this.#budget.reset();
    this.#connection.attach(transport, () => this.detach('the connection was lost'));
  }

  /** Drops the connection and the handshakes on it. */
  detach(reason: string): void {
    for (const { validation } of this.#pending.values()) validation?.stop.abort();
    this.#pending.clear();
    this.#connection.detach(reason);
  }

  /** Takes a frame from the connection; a wrong one harms at most its own stream. */
  receive(bytes: Uint8Array): void {
    this.#connection.receive(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.failAll('the environment stops');
    this.detach('the environment stops');
  }

  #receive(frame: RelayFrame): void {
    const { streamId, body } = frame;
    const action = this.#apply(streamId, this.#eventOf(frame));
    if (action === 'pass') void this.#connection.stream(streamId)?.receive(frame);
    else if (action === 'reset') this.#connection.reset(streamId, RESET_REASON);
    else if (action === 'refuse') {
      this.#refuse(streamId, body.type === 'data' ? 'data before the handshake is complete' : 'a second handshake');
    } else if (action === 'validate' && body.type === 'handshake') this.#begin(streamId, body.payload);
  }

  #eventOf({ ack = 0, body }: RelayFrame): AdmissionEvent {
    if (body.type === 'handshake') return { type: 'handshake', hasRoom: this.#mayBegin() };
    if (body.type === 'resume') return { type: 'resume', continues: body.nextSeq > 0 || ack > 0 };
    return body;
  }

  /** Whether a handshake may begin. Checked before anything is decrypted. */
  #mayBegin(): boolean {
    const { activeStreams, pendingHandshakes } = this.#limits;
    if (this.#connection.size >= activeStreams || this.#budget.isUsedUp) return false;
    let pending = 0;
    for (const { validation } of this.#pending.values()) if (validation) pending++;
    return pending < pendingHandshakes;
  }

  #apply(streamId: string, event: AdmissionEvent): AdmissionAction {
    const pending = this.#pending.get(streamId);
    const before = this.#connection.stream(streamId) ? ACTIVE : (pending?.state ?? UNKNOWN);
    const { state, action } = admit(before, event);
    if (state.phase !== 'validating' && event.type !== 'vouched') pending?.validation?.stop.abort();
    if (state.phase === 'validating') this.#pending.set(streamId, { ...pending, state });
    else if (state.phase === 'offered') this.#remember(streamId, state);
    else this.#pending.delete(streamId);
    return action;
  }

  /** Remembers an offer, and forgets the oldest one above the limit. */
  #remember(streamId: string, state: AdmissionState): void {
    if (streamId.length > defaults.shownStreamId) return;
    this.#pending.set(streamId, { state });
    if (this.#pending.size <= defaults.rememberedOffers + this.#limits.pendingHandshakes) return;
    for (const [oldest, pending] of this.#pending) {
      if (pending.state.phase === 'offered') return void this.#pending.delete(oldest);
    }
  }

  #begin(streamId: string, message1: Uint8Array): void {
    const { keys, environmentId, registrationId } = this.#options;
    const handshake = new ResponderHandshake(keys, { environmentId, registrationId, streamId });
    try {
      const { key, payload } = handshake.readMessage1(message1);
      const authorization = readAuthorization(payload);
      const validation: Validation = { handshake, harnessKey: key, stop: new AbortController() };
      this.#pending.set(streamId, { ...this.#pending.get(streamId)!, validation });
      void this.#validate(streamId, validation, authorization);
    } catch (error) {
      this.#pending.delete(streamId);
      this.#refuse(streamId, (error as Error).message);
    }
  }

  async #validate(streamId: string, validation: Validation, authorization: string): Promise<void> {
    const { stop, harnessKey } = validation;
    const cancel = this.#clock.after(this.#limits.validationMs, () => stop.abort());
    // The reason of a rejection is not logged: the answer of a registry may quote the authorization.
    const valid = this.#options.validate(harnessKey, authorization, streamId, stop.signal);
    const allowed = await abortable(valid, stop.signal).catch(() => false); // refused, like a harness that is not allowed
    cancel();
    const pending = this.#pending.get(streamId);
    if (pending?.validation !== validation) return;
    const hasRoom = this.#connection.size < this.#limits.activeStreams;
    const action = this.#apply(streamId, allowed ? { type: 'vouched', hasRoom } : { type: 'notVouched' });
    if (action === 'refuse') this.#refuse(streamId, 'the registry does not vouch for the harness');
    else if (action === 'reset') this.#connection.reset(streamId, RESET_REASON);
    else this.#activate(streamId, validation, pending.state, allowed === true ? {} : (allowed as HarnessFacts));
  }

  #activate(streamId: string, validation: Validation, state: AdmissionState, harness: HarnessFacts): void {
    const { handshake, harnessKey } = validation;
    const reliable = state.phase === 'validating' && state.isOffered;
    let answer: { readonly message: Uint8Array; readonly ciphers: RecordCiphers };
    try {
      answer = handshake.writeMessage2();
    } catch (error) {
      this.#refuse(streamId, (error as Error).message);
      return;
    }
    void this.#connection.send(streamId, { type: 'handshake', payload: answer.message });
    if (reliable) void this.#connection.send(streamId, { type: 'heartbeat' });
    const records = new SealedRecords(answer.ciphers, reliable ? defaults.largeRecordBytes : defaults.recordBytes);
    const stream = this.#connection.open(streamId, records, reliable);
    if (stream) this.#options.accept(stream, { streamId, harnessKey, reliable, harness });
  }

  /** Ends a handshake, which counts against the budget of the connection. */
  #refuse(streamId: string, reason: string): void {
    const { log } = this.#options;
    log.warn('relay.handshake_refused', { streamId: streamId.slice(0, defaults.shownStreamId), reason });
    this.#connection.reset(streamId, RESET_REASON);
    if (this.#budget.failed()) log.warn('relay.handshakes_paused', { ms: this.#limits.coolDownMs });
  }
}

const UNKNOWN: AdmissionState = { phase: 'unknown' };
const ACTIVE: AdmissionState = { phase: 'active' };

function readAuthorization(payload: Uint8Array): string {
  if (payload.length > defaults.authorizationBytes) throw new RelayError('authorization is too long');
  try {
    return decodeUtf8(payload);
  } catch {
    throw new RelayError('authorization is not UTF-8'); // the decoder's error has no details
  }
}
