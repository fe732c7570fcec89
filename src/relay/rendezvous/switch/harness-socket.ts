import { setTimeout as delay } from 'node:timers/promises';
import { type Deferred, deferred } from '../../../base/index.ts';
import { type Envelope, readEnvelope } from '../../index.ts';
import { isStreamId } from '../api/identifiers.ts';
import { RateLimit } from '../api/rate-limit.ts';
import type { Address } from '../cluster/bus.ts';
import type { Registration } from '../cluster/directory.ts';
import type { SocketGrant } from '../trust/socket-url.ts';
import { type ControlMessage, decodeControl, isControl } from './control-message.ts';
import { CreditQueue, CreditReturn } from './credit-queue.ts';
import { closeCodes, type FrameReceiver, type FrameSocket } from './frame-socket.ts';
import { NodeLink } from './node-link.ts';
import { StreamRecord } from './stream-record.ts';
import { environmentPlace, harnessPlace, type ResetReason, resetFrame, type SwitchContext } from './switch-context.ts';

export type HarnessGrant = Extract<SocketGrant, { role: 'harness' }>;

type Opening = 'opened' | 'gone' | 'silent';

interface HarnessStream {
  readonly id: string;
  readonly record: StreamRecord;
  /** On the way to the environment. */
  readonly queue: CreditQueue;
  readonly returns: CreditReturn;
  /** Since when its environment is away, if it is. */
  apartSince: number | undefined;
}

/** One harness socket: its streams, and its link with the node that has the environment's socket. */
export class HarnessSocket implements FrameReceiver {
  readonly grant: HarnessGrant;
  readonly #context: SwitchContext;
  readonly #here: Address;
  readonly #streams = new Map<string, HarnessStream>();
  readonly #beginnings: RateLimit;
  readonly #onEnded: () => void;
  #socket: FrameSocket | undefined;
  #link: NodeLink | undefined;
  #opening: { readonly link: NodeLink; readonly answer: Deferred<Opening> } | undefined;
  /** Counts attempts to join, so that an older one gives way. */
  #attempt = 0;
  #reading = true;
  #ended = false;

  constructor(context: SwitchContext, grant: HarnessGrant, onEnded: () => void) {
    this.#context = context;
    this.grant = grant;
    this.#beginnings = new RateLimit(context.limits.beginningsPerHarness, BEGINNINGS_MS, context.now);
    this.#here = { node: context.bus.node, place: harnessPlace(grant.connectionId) };
    this.#onEnded = onEnded;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  attach(socket: FrameSocket): void {
    if (this.#ended) socket.close(closeCodes.goingAway, 'going away');
    else this.#socket = socket;
  }

  /** Meets the environment where the registration says it is; false if it is not there. */
  async join(registration: Registration): Promise<boolean> {
    const attempt = ++this.#attempt;
    const { limits, now } = this.#context;
    const there = this.#addressOf(registration);
    for (const pause of [...limits.openRetriesMs, undefined]) {
      const link = new NodeLink(this.#context.bus, this.#here, there, now());
      const outcome = await this.#open(link);
      if (attempt !== this.#attempt || this.#ended) {
        if (outcome === 'opened') link.tell({ type: 'gone' });
        return false;
      }
      if (outcome === 'opened') return true;
      if (outcome === 'silent' || !link.isRemote || pause === undefined) return false;
      await delay(pause);
    }
    return false;
  }

  async #open(link: NodeLink): Promise<Opening> {
    const answer = deferred<Opening>();
    this.#opening = { link, answer };
    const patience = setTimeout(() => answer.resolve('silent'), this.#context.limits.openMs);
    const streams = [...this.#streams.values()].map(({ id }) => id);
    link.tell({ type: 'open', key: this.grant.key, streams });
    const outcome = await answer.promise;
    clearTimeout(patience);
    if (this.#opening?.answer === answer) this.#opening = undefined;
    return outcome;
  }

  #opened(): void {
    if (!this.#opening) return;
    this.#link = this.#opening.link;
    this.#opening.answer.resolve('opened');
    this.#opening = undefined;
    this.#link.heard(this.#context.now());
    for (const stream of this.#streams.values()) stream.apartSince = undefined;
  }

  /** A message of the harness. */
  receive(frame: Uint8Array): void {
    const envelope = isControl(frame) ? undefined : readEnvelope(frame);
    if (envelope && isStreamId(envelope.streamId)) this.#pass(envelope, frame);
    else this.#refuseFrame();
  }

  #pass(envelope: Envelope, frame: Uint8Array): void {
    const stream = this.#streams.get(envelope.streamId) ?? this.#begin(envelope);
    if (!stream) return;
    if (!stream.record.follows('toEnvironment', envelope)) this.#resetBoth(stream, 'frame_lost');
    else if (envelope.body === 'reset') this.#giveUp(stream, frame);
    else if (stream.apartSince === undefined) stream.queue.push(frame); // else its sender repeats it
    this.#readOrWait();
  }

  /** The harness wants no more of it: what waits is of no use either. */
  #giveUp(stream: HarnessStream, reset: Uint8Array): void {
    this.#forget(stream);
    stream.queue.clear();
    this.#link?.sendFrame(reset);
  }

  #refuseFrame(): void {
    this.#context.metrics.add('rendezvous_invalid_frames_total', { role: 'harness' });
    this.#socket?.close(closeCodes.invalidFrame, 'invalid frame');
  }

  #begin({ streamId, body }: Envelope): HarnessStream | undefined {
    if (body === 'reset' || body === 'ack' || body === 'heartbeat') return undefined;
    if (body === 'data') return this.#refuseStream(streamId, 'unknown_stream');
    if (!this.#link) return this.#refuseStream(streamId, 'environment_offline');
    const { limits, now } = this.#context;
    const isBusy = this.#streams.size >= limits.streamsPerHarness || !this.#beginnings.allows('begun');
    if (isBusy) return this.#refuseStream(streamId, 'stream_limit');
    if (this.#streams.size === 0) this.#link.heard(now());
    const stream: HarnessStream = {
      id: streamId,
      record: new StreamRecord(),
      queue: new CreditQueue(limits.windowBytes, (frame) => this.#link?.sendFrame(frame)),
      returns: new CreditReturn(limits.creditBytes),
      apartSince: undefined,
    };
    this.#streams.set(streamId, stream);
    return stream;
  }

  #refuseStream(streamId: string, reason: ResetReason): undefined {
    this.#socket?.send(resetFrame(this.#context, streamId, reason));
  }

  /** Frames already here go on before the harness is read again. */
  #readOrWait(): void {
    const waiting = [...this.#streams.values()].some(({ queue }) => queue.bytes > 0);
    if (waiting === !this.#reading) return;
    this.#reading = !waiting;
    if (waiting) this.#socket?.pause();
    else this.#socket?.resume();
  }

  /** Something from the environment's node. */
  received(payload: Uint8Array, from: Address): void {
    const message = isControl(payload) ? decodeControl(payload) : undefined;
    const opening = this.#opening && isSame(this.#opening.link.there, from) ? this.#opening : undefined;
    if (opening && message?.type === 'opened') this.#opened();
    else if (opening && message?.type === 'gone') opening.answer.resolve('gone');
    const link = this.#link;
    if (!link || !isSame(link.there, from)) return;
    link.heard(this.#context.now());
    if (message) this.#control(link, message);
    else this.#frame(link, payload);
  }

  #frame(link: NodeLink, frame: Uint8Array): void {
    link.frameReceived();
    const envelope = readEnvelope(frame);
    const stream = envelope && this.#streams.get(envelope.streamId);
    if (!stream) return; // ended here meanwhile
    if (stream.record.follows('toHarness', envelope)) this.#deliver(stream, envelope, frame);
    else this.#resetBoth(stream, 'frame_lost');
  }

  #deliver(stream: HarnessStream, { body }: Envelope, frame: Uint8Array): void {
    const { frames, bytes } = this.#context.traffic.toHarness;
    frames.value++;
    bytes.value += frame.length;
    this.#socket?.send(frame, () => this.#written(stream, frame.length));
    if (body === 'reset') this.#forget(stream);
  }

  #written(stream: HarnessStream, length: number): void {
    const bytes = stream.returns.written(length);
    if (bytes > 0 && this.#streams.get(stream.id) === stream) {
      this.#link?.tell({ type: 'credit', stream: stream.id, bytes });
    }
  }

  #control(link: NodeLink, message: ControlMessage): void {
    if (message.type === 'gone') this.peerLost();
    if (message.type === 'credit') this.#streams.get(message.stream)?.queue.credit(message.bytes);
    if (message.type === 'reliable') this.#streams.get(message.stream)?.record.becomeReliable();
    if (message.type === 'lost') for (const { queue } of this.#streams.values()) queue.forgive();
    if (message.type === 'pulse' && link.misses(message.sent)) this.#framesLost(link);
    this.#readOrWait();
  }

  #framesLost(link: NodeLink): void {
    link.tell({ type: 'lost' });
    for (const stream of [...this.#streams.values()]) {
      if (!stream.record.reliable) this.#resetBoth(stream, 'frame_lost');
    }
  }

  /** Nobody is at the other end, although the directory may say so. */
  peerLost(): void {
    const wasJoined = this.#link !== undefined;
    this.#part();
    const registration = this.#context.registration(this.grant.environmentId);
    if (wasJoined && registration?.registrationId === this.grant.registrationId && registration.state === 'online') {
      void this.join(registration);
    }
  }

  /** Streams end now, unless their endpoints know how to go on. */
  #part(): void {
    this.#opening?.answer.resolve('gone');
    if (!this.#link) return;
    this.#link = undefined;
    for (const stream of [...this.#streams.values()]) {
      stream.queue.clear();
      if (stream.record.reliable) stream.apartSince ??= this.#context.now();
      else this.#end(stream, 'environment_offline');
    }
    this.#readOrWait();
  }

  /** The environment moved, left or was registered anew. */
  registrationChanged(registration: Registration | undefined): void {
    if (registration?.registrationId === this.grant.registrationId) {
      this.#follow(registration);
    } else {
      this.#part();
      const { replaced, removed } = closeCodes;
      this.#socket?.close(registration ? replaced : removed, registration ? 'replaced' : 'removed');
    }
  }

  #follow(registration: Registration): void {
    const there = (this.#link ?? this.#opening?.link)?.there;
    const online = registration.state === 'online';
    if (online && there && isSame(there, this.#addressOf(registration))) return;
    this.#part();
    if (online) void this.join(registration);
  }

  #addressOf({ environmentId, epoch, node }: Registration): Address {
    return { node, place: environmentPlace(environmentId, epoch, this.grant.connectionId) };
  }

  tick(now: number): void {
    const { limits } = this.#context;
    for (const stream of [...this.#streams.values()]) {
      const { apartSince } = stream;
      if (apartSince !== undefined && now - apartSince >= limits.reattachMs) this.#end(stream, 'environment_offline');
    }
    const link = this.#link;
    if (!link?.isRemote || this.#streams.size === 0) return;
    if (now - link.heardAt >= limits.pulseSilenceMs) this.peerLost();
    else if (link.pulseIsDue(now, limits.pulseMs)) link.pulse(now);
  }

  /** Somebody relies on the socket being alive: finds out. */
  probe(): void {
    this.#socket?.probe();
  }

  /** Messages between nodes may have been lost: finds out. */
  pulse(): void {
    if (this.#link?.isRemote) this.#link.pulse(this.#context.now());
  }

  /** The socket is gone. */
  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#opening?.answer.resolve('gone');
    this.#socket = undefined;
    this.#link?.tell({ type: 'gone' });
    this.#link = undefined;
    this.#streams.clear();
    this.#onEnded();
  }

  /** Says goodbye: the service stops. */
  close(): void {
    for (const stream of [...this.#streams.values()]) this.#end(stream, 'environment_offline');
    this.#socket?.close(closeCodes.goingAway, 'going away');
    this.ended();
  }

  #resetBoth(stream: HarnessStream, reason: ResetReason): void {
    this.#end(stream, reason);
    this.#link?.sendFrame(resetFrame(this.#context, stream.id, reason));
  }

  #end(stream: HarnessStream, reason: ResetReason): void {
    this.#forget(stream);
    this.#socket?.send(resetFrame(this.#context, stream.id, reason));
  }

  #forget(stream: HarnessStream): void {
    this.#streams.delete(stream.id);
  }
}

const BEGINNINGS_MS = 10_000;

const isSame = (one: Address, other: Address): boolean => one.node === other.node && one.place === other.place;
