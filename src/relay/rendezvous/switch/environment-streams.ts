import { type Envelope, readEnvelope } from '../../index.ts';
import { switchLimits } from '../limits.ts';
import type { AttachedHarness } from './attached-harnesses.ts';
import type { EndpointSocket } from './endpoint-socket.ts';
import { EnvironmentStream } from './environment-stream.ts';
import { HandshakeGate } from './handshake-gate.ts';
import { type ResetReason, resetFrame } from './reset-frame.ts';
import type { SwitchStreamEvent } from './stream-state.ts';
import type { SwitchContext } from './switch-context.ts';

/** The streams of one environment socket, each with a harness at its other end. */
export class EnvironmentStreams {
  readonly #context: SwitchContext;
  readonly #socket: EndpointSocket;
  readonly #streams = new Map<string, EnvironmentStream>();
  readonly #gate: HandshakeGate;
  readonly #openedAt: number;
  /** The last streams that ended, oldest first. The environment may still send frames of them. */
  readonly #ended = new Set<string>();

  constructor(context: SwitchContext, socket: EndpointSocket) {
    this.#context = context;
    this.#socket = socket;
    this.#openedAt = context.now();
    const { handshakesPerEnvironment: pending, uncertainHandshakes: uncertain, handshakeWindowMs } = context.limits;
    this.#gate = new HandshakeGate({ pending, uncertain, windowMs: handshakeWindowMs });
  }

  get size(): number {
    return this.#streams.size;
  }

  /** A frame of the environment. */
  receive(envelope: Envelope, frame: Uint8Array): void {
    const stream = this.#streams.get(envelope.streamId);
    if (!stream) this.#answerUnknown(envelope);
    else if (!stream.record.follows('toHarness', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (stream.state.phase !== 'draining') this.#pass(stream, envelope, frame);
  }

  #pass(stream: EnvironmentStream, { body }: Envelope, frame: Uint8Array): void {
    const { limits, budget } = this.#context;
    if (body === 'handshake' || body === 'reset') this.#handshakeAnswered(stream, body);
    if (stream.state.phase === 'attached') stream.sendToHarness(frame); // else a reliable environment resends it
    if (body === 'reset') this.#apply(stream, { type: 'reset' });
    if (stream.waiting > limits.queueBytesPerStream) this.#resetBoth(stream, 'slow_consumer');
    this.#endIfDrained(stream);
    if (stream.waiting > 0 && budget.exhausted) this.#pauseReading();
  }

  /** Soon after it connected, an environment may send frames of streams whose harness is not attached again yet. */
  #answerUnknown({ streamId, body }: Envelope): void {
    if (body !== 'data' && body !== 'handshake') return;
    if (this.#ended.has(streamId) || this.#context.now() - this.#openedAt < this.#context.limits.reattachMs) return;
    this.#socket.send(resetFrame(this.#context, streamId, 'unknown_stream'));
    this.#remember(streamId);
  }

  /** While the queues of the node are full, the environment is not read: slow, but no frame is dropped. */
  #pauseReading(): void {
    if (!this.#socket.isReading) return;
    this.#socket.pause();
    this.#context.metrics.add('rendezvous_reading_paused_total', {});
    this.#context.budget.wait(() => this.#socket.resume());
  }

  /** A frame of a harness. */
  receiveFrom(harness: AttachedHarness, frame: Uint8Array): void {
    harness.link.countReceived();
    const envelope = readEnvelope(frame);
    if (!envelope) return;
    this.#reattach(envelope.streamId, harness);
    const stream = this.#streams.get(envelope.streamId) ?? this.#begin(envelope, harness);
    if (!stream) return;
    if (stream.harness !== harness) this.#refuse(harness, stream.id, 'stream_in_use');
    else if (!stream.record.follows('toEnvironment', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (envelope.body === 'handshake') this.#handshake(stream, frame);
    else {
      this.#forward(stream, frame);
      if (envelope.body === 'reset') this.#apply(stream, { type: 'ended' });
    }
  }

  #begin({ streamId, body }: Envelope, harness: AttachedHarness): EnvironmentStream | undefined {
    if (body === 'data') return this.#refuse(harness, streamId, 'unknown_stream');
    if (body !== 'resume' && body !== 'handshake') return undefined;
    if (this.#isFull) return this.#refuse(harness, streamId, 'stream_limit');
    return this.#add(streamId, harness, false);
  }

  get #isFull(): boolean {
    return this.#streams.size >= this.#context.limits.streamsPerEnvironment;
  }

  #add(id: string, harness: AttachedHarness, reliable: boolean): EnvironmentStream {
    const stream = new EnvironmentStream(this.#context, id, harness, reliable);
    this.#streams.set(id, stream);
    this.#ended.delete(id);
    return stream;
  }

  /** Attaches streams that a harness had on an earlier socket of this environment. */
  adopt(ids: readonly string[], harness: AttachedHarness): void {
    for (const id of ids) {
      this.#reattach(id, harness);
      if (!this.#streams.has(id) && !this.#isFull) this.#add(id, harness, true);
    }
  }

  /** A harness that changed its network may be back before its older socket is known to be dead. */
  #reattach(id: string, harness: AttachedHarness): void {
    const stream = this.#streams.get(id);
    if (!stream || stream.harness === harness || stream.key !== harness.key || !stream.record.reliable) return;
    if (stream.harness) this.#refuse(stream.harness, id, 'stream_in_use');
    this.#apply(stream, { type: 'found', harness });
    if (stream.state.phase === 'attached') harness.link.sendControl({ type: 'reliable', stream: id });
  }

  #refuse(harness: AttachedHarness, streamId: string, reason: ResetReason): undefined {
    harness.link.sendFrame(resetFrame(this.#context, streamId, reason));
  }

  #handshake(stream: EnvironmentStream, frame: Uint8Array): void {
    const verdict = this.#gate.request(stream.id, frame, this.#context.now());
    if (verdict === 'refuse') this.#resetBoth(stream, 'too_many_handshakes');
    if (verdict === 'pass') this.#forward(stream, frame);
  }

  #handshakeAnswered(stream: EnvironmentStream, answer: 'handshake' | 'reset'): void {
    if (answer === 'handshake') this.#gate.succeeded(stream.id);
    else this.#gate.failed(stream.id);
    this.#releaseHandshakes();
  }

  #releaseHandshakes(): void {
    for (const { stream: id, frame } of this.#gate.release(this.#context.now())) {
      const stream = this.#streams.get(id);
      if (stream) this.#forward(stream, frame);
    }
  }

  #forward(stream: EnvironmentStream, frame: Uint8Array): void {
    const { frames, bytes } = this.#context.traffic.toEnvironment;
    frames.value++;
    bytes.value += frame.length;
    this.#socket.send(frame, () => stream.written(frame.length));
  }

  credit(harness: AttachedHarness, id: string, bytes: number): void {
    const stream = this.#streams.get(id);
    if (stream?.harness !== harness) return;
    stream.credit(bytes);
    this.#endIfDrained(stream);
  }

  /** Frames for this harness were lost on their way. */
  resetWindows(harness: AttachedHarness): void {
    for (const stream of this.of(harness)) stream.resetWindow();
  }

  /** Frames of this harness were lost on their way. */
  framesLost(harness: AttachedHarness): void {
    for (const stream of this.of(harness)) {
      if (!stream.record.reliable) this.#resetBoth(stream, 'frame_lost');
    }
  }

  /** Without the reset an executor would refuse to let the harness resume its session on another connection. */
  detach(harness: AttachedHarness): void {
    for (const stream of this.of(harness)) {
      const wasAttached = stream.state.phase === 'attached';
      this.#apply(stream, { type: 'lost', reliable: stream.record.reliable, now: this.#context.now() });
      if (wasAttached && stream.isOver) this.#resetEnvironment(stream, 'harness_disconnected');
    }
  }

  of(harness: AttachedHarness): EnvironmentStream[] {
    return [...this.#streams.values()].filter((stream) => stream.harness === harness);
  }

  tick(now: number): void {
    for (const stream of [...this.#streams.values()]) {
      const { state } = stream;
      const isExpired = state.phase === 'detached' && now - state.since >= this.#context.limits.reattachMs;
      if (isExpired) this.#end(stream, 'harness_disconnected');
      else if (stream.isStalled(now)) this.#resetBoth(stream, 'slow_consumer');
    }
    this.#releaseHandshakes();
  }

  /** Ends every stream and tells neither end: the socket is closed. */
  clear(): void {
    for (const stream of this.#streams.values()) stream.apply({ type: 'ended' });
    this.#streams.clear();
  }

  #resetBoth(stream: EnvironmentStream, reason: ResetReason): void {
    const { harness } = stream;
    this.#end(stream, reason);
    harness?.link.sendFrame(resetFrame(this.#context, stream.id, reason));
  }

  #end(stream: EnvironmentStream, reason: ResetReason): void {
    this.#apply(stream, { type: 'ended' });
    this.#resetEnvironment(stream, reason);
  }

  #resetEnvironment(stream: EnvironmentStream, reason: ResetReason): void {
    this.#socket.send(resetFrame(this.#context, stream.id, reason));
  }

  #endIfDrained(stream: EnvironmentStream): void {
    if (stream.state.phase === 'draining' && stream.waiting === 0) this.#apply(stream, { type: 'drained' });
  }

  #apply(stream: EnvironmentStream, event: SwitchStreamEvent<AttachedHarness>): void {
    const wasOver = stream.isOver;
    stream.apply(event);
    if (wasOver || !stream.isOver) return;
    this.#streams.delete(stream.id);
    this.#remember(stream.id);
    this.#handshakeAnswered(stream, 'reset');
  }

  #remember(streamId: string): void {
    this.#ended.add(streamId);
    if (this.#ended.size > switchLimits.endedStreams) this.#ended.delete(this.#ended.values().next().value!);
  }
}
