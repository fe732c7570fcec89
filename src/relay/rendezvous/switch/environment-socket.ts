import { type Envelope, readEnvelope } from '../../index.ts';
import { isStreamId } from '../api/identifiers.ts';
import type { Address } from '../cluster/bus.ts';
import type { Registration } from '../cluster/directory.ts';
import { type ControlMessage, decodeControl, encodeControl, isControl } from './control-message.ts';
import { type AttachedHarness, EnvironmentStream } from './environment-stream.ts';
import { closeCodes, type FrameReceiver, type FrameSocket } from './frame-socket.ts';
import { HandshakeGate } from './handshake-gate.ts';
import { NodeLink } from './node-link.ts';
import { environmentPlace, type ResetReason, resetFrame, type SwitchContext } from './switch-context.ts';

export interface EnvironmentFacts {
  readonly environmentId: string;
  readonly registrationId: string;
  readonly epoch: number;
}

/** One environment socket: all its streams, and the connections they belong to, wherever those are. */
export class EnvironmentSocket implements FrameReceiver {
  readonly facts: EnvironmentFacts;
  readonly #context: SwitchContext;
  readonly #harnesses = new Map<string, AttachedHarness>();
  readonly #streams = new Map<string, EnvironmentStream>();
  readonly #gate: HandshakeGate;
  readonly #openedAt: number;
  readonly #onEnded: () => void;
  /** Streams the environment was told are over, lately; it may still be talking on them. */
  readonly #over = new Set<string>();
  /** Frames that came before the socket was open. */
  #early: [frame: Uint8Array, written: (() => void) | undefined][] = [];
  #socket: FrameSocket | undefined;
  #paused = false;
  #ended = false;

  constructor(context: SwitchContext, facts: EnvironmentFacts, onEnded: () => void) {
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
  attach(socket: FrameSocket): void {
    if (this.#ended) socket.close(...REPLACED);
    else this.#socket = socket;
    for (const [frame, written] of this.#early.splice(0)) socket.send(frame, written);
  }

  /** A message of the environment. */
  receive(frame: Uint8Array): void {
    const envelope = isControl(frame) ? undefined : readEnvelope(frame);
    const stream = envelope && this.#streams.get(envelope.streamId);
    if (!envelope || !isStreamId(envelope.streamId)) this.#overlook();
    else if (!stream) this.#unknown(envelope);
    else if (!stream.record.follows('toHarness', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (stream.harness && !stream.ending) this.#pass(stream, envelope, frame); // else a reliable end repeats it
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
    this.#socket?.pause();
    this.#context.metrics.add('rendezvous_reading_paused_total', {});
    this.#context.budget.wait(() => {
      this.#paused = false;
      this.#socket?.resume();
    });
  }

  /** Something from the node of a harness. */
  received(connectionId: string, payload: Uint8Array, from: Address): void {
    const message = isControl(payload) ? decodeControl(payload) : undefined;
    if (message?.type === 'open') return void this.#open(connectionId, message, from);
    const harness = this.#harnesses.get(connectionId);
    if (!harness || harness.link.there.node !== from.node) {
      if (message?.type !== 'gone') this.#answer(connectionId, from, { type: 'gone' });
      return;
    }
    harness.link.heard(this.#context.now());
    if (message) this.#control(harness, message);
    else this.#frame(harness, payload);
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
    const older = [...this.#harnesses.values()].filter(({ key }) => key === message.key);
    const others = older.filter((harness) => harness.connectionId !== connectionId);
    await Promise.all(
      others.map(async (harness) => {
        if (!(await this.#context.isThere(harness.link.there))) this.#harnessGone(harness);
      }),
    );
    const known = this.#harnesses.get(connectionId);
    const isFull = this.#harnesses.size >= HARNESSES_PER_STREAM * limits.streamsPerEnvironment;
    if (this.#ended || (!known && isFull && !this.#forgetIdleHarness())) {
      return this.#answer(connectionId, from, { type: 'gone' });
    }
    const link = new NodeLink(bus, this.#here(connectionId), from, now());
    const harness: AttachedHarness = { connectionId, key: message.key, link };
    if (known) this.#harnessGone(known);
    this.#harnesses.set(connectionId, harness);
    for (const id of message.streams) this.#adopt(id, harness);
    link.tell({ type: 'opened' });
  }

  /** Nobody misses the node of a connection without streams when it dies. One that is alive opens again when it has some. */
  #forgetIdleHarness(): boolean {
    const busy = new Set([...this.#streams.values()].map(({ harness }) => harness));
    const idle = [...this.#harnesses.values()].find((harness) => !busy.has(harness));
    return idle !== undefined && this.#harnesses.delete(idle.connectionId);
  }

  /** A stream that existed on an earlier socket of this environment. */
  #adopt(id: string, harness: AttachedHarness): void {
    const existing = this.#streams.get(id);
    if (existing) this.#reattach(existing, harness);
    else if (this.#streams.size < this.#context.limits.streamsPerEnvironment) {
      this.#streams.set(id, new EnvironmentStream(this.#context, id, harness, true));
    }
  }

  /** A harness that changed its network may be back before its older socket is known to be dead. */
  #reattach(stream: EnvironmentStream, harness: AttachedHarness): void {
    const { harness: before, record, key } = stream;
    if (before === harness || key !== harness.key || !record.reliable) return;
    stream.clear();
    stream.harness = harness;
    if (before) this.#refuse(before, stream.id, 'stream_in_use');
    harness.link.tell({ type: 'reliable', stream: stream.id });
  }

  #control(harness: AttachedHarness, message: ControlMessage): void {
    if (message.type === 'gone') this.#harnessGone(harness);
    if (message.type === 'lost') for (const stream of this.#streamsOf(harness)) stream.forgive();
    if (message.type === 'pulse' && harness.link.misses(message.sent)) this.#framesLost(harness);
    if (message.type !== 'credit') return;
    const stream = this.#streams.get(message.stream);
    if (stream?.harness !== harness) return;
    stream.credit(message.bytes);
    this.#forgetIfOver(stream);
  }

  #framesLost(harness: AttachedHarness): void {
    harness.link.tell({ type: 'lost' });
    for (const stream of this.#streamsOf(harness)) {
      if (!stream.record.reliable) this.#resetBoth(stream, 'frame_lost');
    }
  }

  #frame(harness: AttachedHarness, frame: Uint8Array): void {
    harness.link.frameReceived();
    const envelope = readEnvelope(frame);
    const stream = envelope && (this.#streams.get(envelope.streamId) ?? this.#begin(envelope, harness));
    if (!stream) return;
    this.#reattach(stream, harness);
    if (stream.harness !== harness) this.#refuse(harness, stream.id, 'stream_in_use');
    else if (!stream.record.follows('toEnvironment', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (envelope.body === 'handshake') this.#handshake(stream, frame);
    else {
      this.#forward(stream, frame);
      if (envelope.body === 'reset') this.#forget(stream);
    }
  }

  #begin({ streamId, body }: Envelope, harness: AttachedHarness): EnvironmentStream | undefined {
    if (body === 'data') return this.#refuse(harness, streamId, 'unknown_stream');
    if (body !== 'resume' && body !== 'handshake') return undefined;
    const { limits } = this.#context;
    if (this.#streams.size >= limits.streamsPerEnvironment) return this.#refuse(harness, streamId, 'stream_limit');
    const stream = new EnvironmentStream(this.#context, streamId, harness, false);
    this.#streams.set(streamId, stream);
    this.#over.delete(streamId);
    return stream;
  }

  #refuse(harness: AttachedHarness, streamId: string, reason: ResetReason): undefined {
    harness.link.sendFrame(resetFrame(this.#context, streamId, reason));
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
    if (this.#socket) this.#socket.send(frame, written);
    else if (!this.#ended) this.#early.push([frame, written]);
  }

  /** The node of a harness, or its socket, is gone. */
  harnessLost(connectionId: string): void {
    const harness = this.#harnesses.get(connectionId);
    if (harness) this.#harnessGone(harness);
  }

  /** Without the reset an executor would refuse to let the harness take up its session on another connection. */
  #harnessGone(harness: AttachedHarness): void {
    this.#harnesses.delete(harness.connectionId);
    for (const stream of this.#streamsOf(harness)) {
      stream.clear();
      stream.harness = undefined;
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
    this.#socket?.close(code, reason);
    this.ended();
  }

  tick(now: number): void {
    const { limits } = this.#context;
    for (const stream of [...this.#streams.values()]) {
      const forsaken = !stream.harness && now - stream.detachedAt >= limits.reattachMs;
      if (forsaken) this.#endTowardsEnvironment(stream, 'harness_disconnected');
      else if (stream.isStalled(now)) this.#resetBoth(stream, 'slow_consumer');
    }
    this.#releaseHeld();
    for (const harness of [...this.#harnesses.values()]) this.#tickHarness(harness, now);
  }

  #tickHarness(harness: AttachedHarness, now: number): void {
    const { link } = harness;
    const { pulseMs, pulseSilenceMs } = this.#context.limits;
    if (!link.isRemote || this.#streamsOf(harness).length === 0) return;
    if (now - link.heardAt >= pulseSilenceMs) this.#harnessGone(harness);
    else if (link.pulseIsDue(now, pulseMs)) link.pulse(now);
  }

  /** Somebody relies on the socket being alive: finds out. */
  probe(): void {
    this.#socket?.probe();
  }

  /** Messages between nodes may have been lost: finds out. */
  pulse(): void {
    for (const { link } of this.#harnesses.values()) {
      if (link.isRemote) link.pulse(this.#context.now());
    }
  }

  /** The socket is gone. */
  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#socket = undefined;
    this.#early = [];
    for (const stream of this.#streams.values()) stream.clear();
    this.#streams.clear();
    this.#onEnded();
    for (const { link } of this.#harnesses.values()) link.tell({ type: 'gone' });
    this.#harnesses.clear();
  }

  /** Says goodbye: the service stops. */
  close(): void {
    this.#socket?.close(closeCodes.goingAway, 'going away');
    this.ended();
  }

  #streamsOf(harness: AttachedHarness): EnvironmentStream[] {
    return [...this.#streams.values()].filter((stream) => stream.harness === harness);
  }

  #resetBoth(stream: EnvironmentStream, reason: ResetReason): void {
    const { harness } = stream;
    this.#endTowardsEnvironment(stream, reason);
    harness?.link.sendFrame(resetFrame(this.#context, stream.id, reason));
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
const HARNESSES_PER_STREAM = 4;
const REMEMBERED = 256;
const REPLACED = [closeCodes.replaced, 'replaced'] as const;
const REMOVED = [closeCodes.removed, 'removed'] as const;
