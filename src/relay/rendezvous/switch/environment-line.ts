import { type Envelope, readEnvelope } from '../../index.ts';
import { isStreamId } from '../api/identifiers.ts';
import type { Address } from '../cluster/bus.ts';
import type { Registration } from '../cluster/directory.ts';
import { type ControlMessage, decodeControl, encodeControl, isControl } from './control-message.ts';
import { Conversation } from './conversation.ts';
import { EnvironmentStream, type Party } from './environment-stream.ts';
import { HandshakeGate } from './handshake-gate.ts';
import { environmentPlace, type LineContext, type ResetReason, resetFrame } from './line-context.ts';
import { closeCodes, type Port, type PortReceiver } from './port.ts';

export interface EnvironmentFacts {
  readonly environmentId: string;
  readonly registrationId: string;
  readonly epoch: number;
}

/** One environment socket: all its streams, and the connections they belong to, wherever those are. */
export class EnvironmentLine implements PortReceiver {
  readonly facts: EnvironmentFacts;
  readonly #context: LineContext;
  readonly #parties = new Map<string, Party>();
  readonly #streams = new Map<string, EnvironmentStream>();
  readonly #gate: HandshakeGate;
  readonly #openedAt: number;
  readonly #onEnded: () => void;
  /** Streams the environment was told are over, lately; it may still be talking on them. */
  readonly #over = new Set<string>();
  /** Frames that came before the socket was open. */
  #early: [frame: Uint8Array, written: (() => void) | undefined][] = [];
  #port: Port | undefined;
  #paused = false;
  #ended = false;

  constructor(context: LineContext, facts: EnvironmentFacts, onEnded: () => void) {
    this.#context = context;
    this.facts = facts;
    this.#openedAt = context.now();
    this.#onEnded = onEnded;
    const { handshakesPerEnvironment: pending, uncertainHandshakes: uncertain, handshakeWindowMs } = context.limits;
    this.#gate = new HandshakeGate({ pending, uncertain, windowMs: handshakeWindowMs });
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Somebody may have taken its place while the socket was being opened; it must not stay open for nobody. */
  attach(port: Port): void {
    if (this.#ended) port.close(...REPLACED);
    else this.#port = port;
    for (const [frame, written] of this.#early.splice(0)) port.send(frame, written);
  }

  /** A message of the environment. */
  receive(frame: Uint8Array): void {
    const envelope = isControl(frame) ? undefined : readEnvelope(frame);
    const stream = envelope && this.#streams.get(envelope.streamId);
    if (!envelope || !isStreamId(envelope.streamId)) this.#overlook();
    else if (!stream) this.#unknown(envelope);
    else if (!stream.record.follows('toHarness', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (stream.party && !stream.ending) this.#pass(stream, envelope, frame); // else a reliable end repeats it
  }

  #overlook(): void {
    this.#context.metrics.add('rendezvous_invalid_frames_total', { role: 'environment' });
  }

  #pass(stream: EnvironmentStream, { body }: Envelope, frame: Uint8Array): void {
    if (body === 'handshake') this.#settle(stream, true);
    if (body === 'reset') {
      this.#settle(stream, false);
      stream.ending = true;
    }
    stream.toHarness(frame);
    if (stream.waiting > this.#context.limits.queueBytesPerStream) this.#resetBoth(stream, 'slow_consumer');
    this.#forgetIfOver(stream);
    if (stream.waiting > 0 && this.#context.budget.exhausted) this.#pause();
  }

  /** Soon after it came back, an environment may talk on streams whose harness is not here again yet. */
  #unknown({ streamId, body }: Envelope): void {
    if (body !== 'data' && body !== 'handshake') return;
    if (this.#over.has(streamId) || this.#context.now() - this.#openedAt < this.#context.limits.reattachMs) return;
    this.#toEnvironment(resetFrame(this.#context, streamId, 'unknown_stream'));
    this.#remember(streamId);
  }

  /** The shared socket is not read while the queues of the node are full: slow, but nothing is lost. */
  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#port?.pause();
    this.#context.metrics.add('rendezvous_reading_paused_total', {});
    this.#context.budget.wait(() => {
      this.#paused = false;
      this.#port?.resume();
    });
  }

  /** Something from the node of a harness. */
  received(connectionId: string, payload: Uint8Array, from: Address): void {
    const message = isControl(payload) ? decodeControl(payload) : undefined;
    if (message?.type === 'open') return void this.#open(connectionId, message, from);
    const party = this.#parties.get(connectionId);
    if (!party || party.conversation.there.node !== from.node) {
      if (message?.type !== 'gone') this.#answer(connectionId, from, { type: 'gone' });
      return;
    }
    party.conversation.heard(this.#context.now());
    if (message) this.#control(party, message);
    else this.#frame(party, payload);
  }

  #answer(connectionId: string, to: Address, message: ControlMessage): void {
    this.#context.bus.send(to, encodeControl(message), this.#here(connectionId));
  }

  #here(connectionId: string): Address {
    const { environmentId, epoch } = this.facts;
    return { node: this.#context.bus.node, place: environmentPlace(environmentId, epoch, connectionId) };
  }

  /**
   * A harness that lost its connection comes back with the same key. The older one is asked for first: if its node died without
   * a word, the executor has to hear that its streams are over before new ones can take up its sessions.
   */
  async #open(connectionId: string, message: ControlMessage & { type: 'open' }, from: Address): Promise<void> {
    const { bus, limits, now } = this.#context;
    const older = [...this.#parties.values()].filter(({ key }) => key === message.key);
    const others = older.filter((party) => party.connectionId !== connectionId);
    await Promise.all(
      others.map(async (party) => {
        if (!(await this.#context.isThere(party.conversation.there))) this.#partyGone(party);
      }),
    );
    const known = this.#parties.get(connectionId);
    const isFull = this.#parties.size >= PARTIES_PER_STREAM * limits.streamsPerEnvironment;
    if (this.#ended || (!known && isFull && !this.#forgetIdleParty())) {
      return this.#answer(connectionId, from, { type: 'gone' });
    }
    const conversation = new Conversation(bus, this.#here(connectionId), from, now());
    const party: Party = { connectionId, key: message.key, conversation };
    if (known) this.#partyGone(known);
    this.#parties.set(connectionId, party);
    for (const id of message.streams) this.#adopt(id, party);
    conversation.tell({ type: 'opened' });
  }

  /** Nobody misses the node of a connection without streams when it dies. One that is alive opens again when it has some. */
  #forgetIdleParty(): boolean {
    const busy = new Set([...this.#streams.values()].map(({ party }) => party));
    const idle = [...this.#parties.values()].find((party) => !busy.has(party));
    return idle !== undefined && this.#parties.delete(idle.connectionId);
  }

  /** A stream that existed on an earlier socket of this environment. */
  #adopt(id: string, party: Party): void {
    const existing = this.#streams.get(id);
    if (existing) this.#reattach(existing, party);
    else if (this.#streams.size < this.#context.limits.streamsPerEnvironment) {
      this.#streams.set(id, new EnvironmentStream(this.#context, id, party, true));
    }
  }

  /** A harness that changed its network may be back before its older socket is known to be dead. */
  #reattach(stream: EnvironmentStream, party: Party): void {
    const { party: before, record, key } = stream;
    if (before === party || key !== party.key || !record.reliable) return;
    stream.clear();
    stream.party = party;
    if (before) this.#refuse(before, stream.id, 'stream_in_use');
    party.conversation.tell({ type: 'reliable', stream: stream.id });
  }

  #control(party: Party, message: ControlMessage): void {
    if (message.type === 'gone') this.#partyGone(party);
    if (message.type === 'lost') for (const stream of this.#streamsOf(party)) stream.forgive();
    if (message.type === 'pulse' && party.conversation.misses(message.sent)) this.#framesLost(party);
    if (message.type !== 'credit') return;
    const stream = this.#streams.get(message.stream);
    if (stream?.party !== party) return;
    stream.credit(message.bytes);
    this.#forgetIfOver(stream);
  }

  #framesLost(party: Party): void {
    party.conversation.tell({ type: 'lost' });
    for (const stream of this.#streamsOf(party)) {
      if (!stream.record.reliable) this.#resetBoth(stream, 'frame_lost');
    }
  }

  #frame(party: Party, frame: Uint8Array): void {
    party.conversation.frameReceived();
    const envelope = readEnvelope(frame);
    const stream = envelope && (this.#streams.get(envelope.streamId) ?? this.#begin(envelope, party));
    if (!stream) return;
    this.#reattach(stream, party);
    if (stream.party !== party) this.#refuse(party, stream.id, 'stream_in_use');
    else if (!stream.record.follows('toEnvironment', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (envelope.body === 'handshake') this.#handshake(stream, frame);
    else {
      this.#forward(stream, frame);
      if (envelope.body === 'reset') this.#forget(stream);
    }
  }

  #begin({ streamId, body }: Envelope, party: Party): EnvironmentStream | undefined {
    if (body === 'data') return this.#refuse(party, streamId, 'unknown_stream');
    if (body !== 'resume' && body !== 'handshake') return undefined;
    const { limits } = this.#context;
    if (this.#streams.size >= limits.streamsPerEnvironment) return this.#refuse(party, streamId, 'stream_limit');
    const stream = new EnvironmentStream(this.#context, streamId, party, false);
    this.#streams.set(streamId, stream);
    this.#over.delete(streamId);
    return stream;
  }

  #refuse(party: Party, streamId: string, reason: ResetReason): undefined {
    party.conversation.sendFrame(resetFrame(this.#context, streamId, reason));
  }

  #handshake(stream: EnvironmentStream, frame: Uint8Array): void {
    const verdict = this.#gate.request(stream.id, this.#context.now());
    if (verdict !== 'refuse') stream.settled = false;
    if (verdict === 'refuse') this.#resetBoth(stream, 'too_many_handshakes');
    else if (verdict === 'hold') stream.held = frame;
    else this.#forward(stream, frame);
  }

  #settle(stream: EnvironmentStream, succeeded: boolean): void {
    if (stream.settled) return;
    stream.settled = true;
    if (succeeded) this.#gate.succeeded(stream.id);
    else this.#gate.failed(stream.id);
    this.#releaseHeld();
  }

  #releaseHeld(): void {
    for (const id of this.#gate.release(this.#context.now())) {
      const stream = this.#streams.get(id);
      if (!stream?.held) continue;
      this.#forward(stream, stream.held);
      stream.held = undefined;
    }
  }

  #forward(stream: EnvironmentStream, frame: Uint8Array): void {
    const { frames, bytes } = this.#context.traffic.toEnvironment;
    frames.value++;
    bytes.value += frame.length;
    this.#toEnvironment(frame, () => stream.written(frame.length));
  }

  #toEnvironment(frame: Uint8Array, written?: () => void): void {
    if (this.#port) this.#port.send(frame, written);
    else if (!this.#ended) this.#early.push([frame, written]);
  }

  /** The node of a harness, or its socket, is gone. */
  partyLost(connectionId: string): void {
    const party = this.#parties.get(connectionId);
    if (party) this.#partyGone(party);
  }

  /** Without the reset an executor would refuse to let the harness take up its session on another connection. */
  #partyGone(party: Party): void {
    this.#parties.delete(party.connectionId);
    for (const stream of this.#streamsOf(party)) {
      stream.clear();
      stream.party = undefined;
      stream.detachedAt = this.#context.now();
      if (!stream.record.reliable || stream.ending) this.#endTowardsEnvironment(stream, 'harness_disconnected');
    }
  }

  registrationChanged(registration: Registration | undefined): void {
    const { registrationId, epoch } = this.facts;
    const node = this.#context.bus.node;
    if (registration?.registrationId === registrationId && registration.epoch === epoch && registration.node === node)
      return;
    const [code, reason] = registration ? REPLACED : REMOVED;
    this.#port?.close(code, reason);
    this.ended();
  }

  tick(now: number): void {
    const { limits } = this.#context;
    for (const stream of [...this.#streams.values()]) {
      const forsaken = !stream.party && now - stream.detachedAt >= limits.reattachMs;
      if (forsaken) this.#endTowardsEnvironment(stream, 'harness_disconnected');
      else if (stream.isStalled(now)) this.#resetBoth(stream, 'slow_consumer');
    }
    this.#releaseHeld();
    for (const party of [...this.#parties.values()]) this.#tickParty(party, now);
  }

  #tickParty(party: Party, now: number): void {
    const { conversation } = party;
    const { pulseMs, pulseSilenceMs } = this.#context.limits;
    if (!conversation.isRemote || this.#streamsOf(party).length === 0) return;
    if (now - conversation.heardAt >= pulseSilenceMs) this.#partyGone(party);
    else if (conversation.pulseIsDue(now, pulseMs)) conversation.pulse(now);
  }

  /** Somebody relies on the socket being alive: finds out. */
  probe(): void {
    this.#port?.probe();
  }

  /** Messages between nodes may have been lost: finds out. */
  pulse(): void {
    for (const { conversation } of this.#parties.values()) {
      if (conversation.isRemote) conversation.pulse(this.#context.now());
    }
  }

  /** The socket is gone. */
  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#port = undefined;
    this.#early = [];
    for (const stream of this.#streams.values()) stream.clear();
    this.#streams.clear();
    this.#onEnded();
    for (const { conversation } of this.#parties.values()) conversation.tell({ type: 'gone' });
    this.#parties.clear();
  }

  /** Says goodbye: the service stops. */
  close(): void {
    this.#port?.close(closeCodes.goingAway, 'going away');
    this.ended();
  }

  #streamsOf(party: Party): EnvironmentStream[] {
    return [...this.#streams.values()].filter((stream) => stream.party === party);
  }

  #resetBoth(stream: EnvironmentStream, reason: ResetReason): void {
    const { party } = stream;
    this.#endTowardsEnvironment(stream, reason);
    party?.conversation.sendFrame(resetFrame(this.#context, stream.id, reason));
  }

  #endTowardsEnvironment(stream: EnvironmentStream, reason: ResetReason): void {
    this.#forget(stream);
    this.#toEnvironment(resetFrame(this.#context, stream.id, reason));
  }

  #forgetIfOver(stream: EnvironmentStream): void {
    if (stream.ending && stream.waiting === 0) this.#forget(stream);
  }

  #forget(stream: EnvironmentStream): void {
    this.#streams.delete(stream.id);
    stream.clear();
    this.#remember(stream.id);
    this.#settle(stream, false);
  }

  #remember(streamId: string): void {
    this.#over.add(streamId);
    if (this.#over.size > REMEMBERED) this.#over.delete(this.#over.values().next().value!);
  }
}

/** Connections that hold no stream at the moment are few, but there may be some. */
const PARTIES_PER_STREAM = 4;
const REMEMBERED = 256;
const REPLACED = [closeCodes.replaced, 'replaced'] as const;
const REMOVED = [closeCodes.removed, 'removed'] as const;
