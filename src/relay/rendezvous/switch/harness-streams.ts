import type { Envelope } from '../../index.ts';
import { RateLimit } from '../api/rate-limit.ts';
import { CreditQueue, CreditReturn } from './credit-queue.ts';
import type { EndpointSocket } from './endpoint-socket.ts';
import type { NodeLink } from './node-link.ts';
import { type ResetReason, resetFrame } from './reset-frame.ts';
import { StreamRecord } from './stream-record.ts';
import type { SwitchContext } from './switch-context.ts';

/** A stream at the node of its harness. */
interface HarnessStream {
  readonly id: string;
  readonly record: StreamRecord;
  /** Frames for the environment. */
  readonly queue: CreditQueue;
  readonly returns: CreditReturn;
  /** When the environment was lost. Only reliable streams outlive its socket. */
  detachedSince: number | undefined;
}

/** The streams of one harness socket. */
export class HarnessStreams {
  readonly #context: SwitchContext;
  readonly #socket: EndpointSocket;
  readonly #linkNow: () => NodeLink | undefined;
  readonly #streams = new Map<string, HarnessStream>();
  readonly #beginnings: RateLimit;

  constructor(context: SwitchContext, socket: EndpointSocket, linkNow: () => NodeLink | undefined) {
    this.#context = context;
    this.#socket = socket;
    this.#linkNow = linkNow;
    const { beginningsPerHarness, beginningsWindowMs } = context.limits;
    this.#beginnings = new RateLimit(beginningsPerHarness, beginningsWindowMs, context.now);
  }

  get ids(): readonly string[] {
    return [...this.#streams.keys()];
  }

  /** A frame of the harness. */
  receive(envelope: Envelope, frame: Uint8Array): void {
    const stream = this.#streams.get(envelope.streamId) ?? this.#begin(envelope);
    if (!stream) return;
    if (!stream.record.follows('toEnvironment', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (envelope.body === 'reset') this.#giveUp(stream, frame);
    else if (stream.detachedSince === undefined) stream.queue.push(frame); // else a reliable harness resends it
    this.#readOrPause();
  }

  /** The harness wants no more of the stream, so frames that wait for the environment are dropped. */
  #giveUp(stream: HarnessStream, reset: Uint8Array): void {
    this.#streams.delete(stream.id);
    stream.queue.clear();
    this.#link?.sendFrame(reset);
  }

  #begin({ streamId, body }: Envelope): HarnessStream | undefined {
    if (body === 'reset' || body === 'ack' || body === 'heartbeat') return undefined;
    if (body === 'data') return this.#refuse(streamId, 'unknown_stream');
    if (!this.#link) return this.#refuse(streamId, 'environment_offline');
    const { limits, now } = this.#context;
    const isFull = this.#streams.size >= limits.streamsPerHarness || !this.#beginnings.allows('begun');
    if (isFull) return this.#refuse(streamId, 'stream_limit');
    if (this.#streams.size === 0) this.#link.heard(now()); // peers compare counts only while there are streams
    const stream: HarnessStream = {
      id: streamId,
      record: new StreamRecord(),
      queue: new CreditQueue(limits.windowBytes, (frame) => this.#link?.sendFrame(frame)),
      returns: new CreditReturn(limits.creditBytes),
      detachedSince: undefined,
    };
    this.#streams.set(streamId, stream);
    return stream;
  }

  #refuse(streamId: string, reason: ResetReason): undefined {
    this.#socket.send(resetFrame(this.#context, streamId, reason));
  }

  /** Frames that were read before go on first. */
  #readOrPause(): void {
    const isWaiting = [...this.#streams.values()].some(({ queue }) => queue.bytes > 0);
    if (isWaiting && this.#socket.isReading) this.#socket.pause();
    if (!isWaiting && !this.#socket.isReading) this.#socket.resume();
  }

  /** A frame of the environment. */
  deliver(envelope: Envelope, frame: Uint8Array): void {
    const stream = this.#streams.get(envelope.streamId);
    if (!stream) return; // it ended here while the frame was on its way
    if (stream.record.follows('toHarness', envelope)) this.#sendToHarness(stream, envelope, frame);
    else this.#resetBoth(stream, 'frame_lost');
  }

  #sendToHarness(stream: HarnessStream, { body }: Envelope, frame: Uint8Array): void {
    const { frames, bytes } = this.#context.traffic.toHarness;
    frames.value++;
    bytes.value += frame.length;
    this.#socket.send(frame, () => this.#written(stream, frame.length));
    if (body === 'reset') this.#streams.delete(stream.id);
  }

  #written(stream: HarnessStream, length: number): void {
    const bytes = stream.returns.written(length);
    if (bytes > 0 && this.#streams.get(stream.id) === stream) {
      this.#link?.sendControl({ type: 'credit', stream: stream.id, bytes });
    }
  }

  credit(id: string, bytes: number): void {
    this.#streams.get(id)?.queue.credit(bytes);
    this.#readOrPause();
  }

  /** Frames for the environment were lost on their way. */
  resetWindows(): void {
    for (const { queue } of this.#streams.values()) queue.resetWindow();
    this.#readOrPause();
  }

  /** Both ends of the stream resume it, as the environment's node has seen. */
  becomeReliable(id: string): void {
    this.#streams.get(id)?.record.becomeReliable();
  }

  /** Frames of the environment were lost on their way. */
  framesLost(): void {
    for (const stream of [...this.#streams.values()]) {
      if (!stream.record.reliable) this.#resetBoth(stream, 'frame_lost');
    }
    this.#readOrPause();
  }

  attach(): void {
    for (const stream of this.#streams.values()) stream.detachedSince = undefined;
  }

  /** The environment is lost: streams end now, unless both ends resume them. */
  detach(): void {
    for (const stream of [...this.#streams.values()]) {
      stream.queue.clear();
      if (stream.record.reliable) stream.detachedSince ??= this.#context.now();
      else this.#end(stream, 'environment_offline');
    }
    this.#readOrPause();
  }

  tick(now: number): void {
    for (const stream of [...this.#streams.values()]) {
      const { detachedSince: since } = stream;
      const isExpired = since !== undefined && now - since >= this.#context.limits.reattachMs;
      if (isExpired) this.#end(stream, 'environment_offline');
    }
  }

  /** Tells the harness that every stream is over. */
  endAll(): void {
    for (const stream of [...this.#streams.values()]) this.#end(stream, 'environment_offline');
  }

  clear(): void {
    this.#streams.clear();
  }

  #resetBoth(stream: HarnessStream, reason: ResetReason): void {
    this.#end(stream, reason);
    this.#link?.sendFrame(resetFrame(this.#context, stream.id, reason));
  }

  #end(stream: HarnessStream, reason: ResetReason): void {
    this.#streams.delete(stream.id);
    this.#socket.send(resetFrame(this.#context, stream.id, reason));
  }

  get #link(): NodeLink | undefined {
    return this.#linkNow();
  }
}
