import { type Clock, type Deferred, deferred } from '../../base/index.ts';
import type { Link, Receiver } from '../../rpc/index.ts';
import type { RelayData, RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { IncomingRecords, type Overflow } from './incoming-records.ts';
import { limits } from './limits.ts';
import { OutgoingRecords } from './outgoing-records.ts';
import type { Records } from './records.ts';
import { Reliability } from './reliability.ts';
import { SendWindow } from './send-window.ts';
import { type ClosedStream, isAcknowledged, next, type StreamEvent, type StreamState } from './stream-state.ts';

export interface RelayStreamOptions {
  readonly streamId: string;
  readonly records: Records;
  readonly transport: FrameTransport;
  /** Whether deliveries are acknowledged: never; if the peer accepts the offer; or as agreed before. */
  readonly delivery: 'unacknowledged' | 'offered' | 'acknowledged';
  /** Whether only this stream uses the transport: then the stream may leave it unread, and close it. */
  readonly ownsTransport: boolean;
  readonly clock: Clock;
  /** Called when a stream with acknowledged delivery has lost its connection. */
  onSuspended?(): void;
  onEnd(reason: string): void;
}

/** A stream of messages in records, whose states are in `stream-state.ts`. */
export class RelayStream implements Link {
  readonly source: string;
  readonly peer: string;
  readonly noticesLoss = true;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #options: RelayStreamOptions;
  readonly #outgoing: OutgoingRecords;
  readonly #incoming: IncomingRecords;
  #state: StreamState;
  #reliability: Reliability | undefined;
  /** Callers of `answers` that wait for any frame of the peer. */
  #probes: Deferred<boolean>[] = [];
  #cancelGap: (() => void) | undefined;
  /** Runs from the loss of a connection until a frame arrives on another. */
  #cancelReattach: (() => void) | undefined;

  constructor(options: RelayStreamOptions) {
    const { streamId, records, transport, clock, delivery } = options;
    const onFailure = ({ message }: Error): void => this.fail(message);
    this.source = `relay JSON-RPC message from exec-server relay stream ${streamId}`;
    this.peer = `relay stream ${streamId}`;
    this.#options = options;
    this.#state = { phase: 'open', delivery };
    this.#outgoing = new OutgoingRecords({
      streamId,
      records,
      transport,
      sent: delivery === 'unacknowledged' ? undefined : new SendWindow(),
      clock,
      onFailure,
      onOfferLapsed: () => this.#apply({ type: 'offerLapsed' }),
      onDrained: () => this.#drained(),
    });
    this.#incoming = new IncomingRecords({
      records,
      limitBytes: delivery === 'unacknowledged' ? limits.reorderBytes : limits.windowBytes,
      overflow: () => this.#overflow(),
      onAdvanced: () => this.#reliability?.acknowledge(),
      onFailure,
    });
    if (delivery === 'acknowledged') this.#beginAcknowledging();
  }

  get isAcknowledged(): boolean {
    return isAcknowledged(this.#state);
  }

  open(receive: Receiver): void {
    this.#incoming.open(receive);
  }

  /** Throws when the message is larger than a relay carries. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    if (this.#state.phase === 'closing' || this.#state.phase === 'closed') return;
    return this.#outgoing.send(message, onDelivered);
  }

  probe(): void {
    if (!this.#reliability) this.#outgoing.transport?.probe(); // acknowledgements come by themselves
  }

  /**
   * False while the stream waits for another connection. Without acknowledgements the peer cannot be asked, so the answer is true: the
   * rendezvous ends the stream when the peer is gone.
   */
  async answers(withinMs: number): Promise<boolean> {
    const { phase } = this.#state;
    if (phase !== 'open' && phase !== 'resuming') return false;
    if (!this.#reliability) return true;
    const answer = deferred<boolean>();
    this.#probes.push(answer);
    const cancel = this.#options.clock.after(withinMs, () => answer.resolve(false));
    this.#reliability.ask();
    return answer.promise.finally(cancel);
  }

  close(): void {
    this.#apply({ type: 'close', awaitsAcks: true });
    this.#outgoing.pump();
  }

  destroy(): void {
    this.#apply({ type: 'close', awaitsAcks: false });
    this.#outgoing.pump();
  }

  /** Takes a frame of this stream. The promise, if any, resolves once there is room for more. */
  receive(frame: RelayFrame): void | Promise<void> {
    const { body } = frame;
    if (body.type === 'reset') return this.#apply({ type: 'resetReceived' });
    if (body.type === 'heartbeat' || body.type === 'ack') this.#apply({ type: 'peerAcknowledges' });
    this.#apply({ type: 'frameArrived' });
    if (this.#state.phase === 'closed') return;
    this.#resolveProbes(true);
    if (this.#reliability) this.#noteAcknowledgement(frame, this.#reliability);
    if (body.type === 'data') this.#take(body);
    if (this.#overflow() === 'pause') return this.#incoming.room();
  }

  /** Continues on a new connection. */
  attach(transport: FrameTransport): void {
    if (this.#state.phase !== 'suspended') return;
    this.#outgoing.transport = transport;
    this.#apply({ type: 'connected' });
  }

  /** The connection is lost, and with it a stream whose deliveries are not acknowledged. */
  suspend(reason: string): void {
    this.#outgoing.disconnect();
    this.#apply({ type: 'connectionLost', reason });
  }

  /** Ends the stream and tells the peer. */
  fail(reason: string): void {
    this.#apply({ type: 'failed', reason });
  }

  #apply(event: StreamEvent): void {
    const before = this.#state;
    const state = next(before, event);
    if (state === before) return;
    this.#state = state;
    if (state.phase === 'closed') this.#end(state);
    else if (isAcknowledged(state) && !isAcknowledged(before)) this.#beginAcknowledging();
    else if (event.type === 'offerLapsed') this.#outgoing.forgetSent();
    else if (state.phase === 'suspended') this.#awaitTransport();
    else if (state.phase === 'resuming') this.#resume();
    else if (state.phase === 'open') this.#connectedAgain();
    else if (before.phase !== 'closing') this.#options.clock.after(limits.closingMs, () => this.fail('closed'));
  }

  #beginAcknowledging(): void {
    this.#reliability = new Reliability({
      clock: this.#options.clock,
      sent: this.#outgoing.sent!,
      arrived: this.#incoming.window,
      send: (body) => this.#outgoing.sendBody(body),
      resend: (frames) => this.#outgoing.resend(frames),
      onSilence: () => this.#silent(),
      onViolation: ({ message }) => this.fail(message),
    });
    this.#outgoing.reliability = this.#reliability;
    this.#reliability.acknowledge();
    this.#watchGap();
  }

  #resolveProbes(isThere: boolean): void {
    for (const answer of this.#probes.splice(0)) answer.resolve(isThere);
  }

  #noteAcknowledgement(frame: RelayFrame, reliability: Reliability): void {
    reliability.received(frame);
    this.#outgoing.confirm(this.#outgoing.sent?.base ?? 0);
    this.#outgoing.pump();
  }

  #take(data: RelayData): void {
    if (this.#state.phase === 'closed') return;
    try {
      const news = this.#goesByArrival(data.seq) ? this.#incoming.takeAsNext(data) : this.#incoming.take(data);
      this.#watchGap();
      this.#reliability?.frameArrived(data.payload.length, news);
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  /** Whether the order of arrival counts instead of numbers. If a plain peer's numbers are out of order before it has agreed to acknowledge, the offer lapses. */
  #goesByArrival(seq: number): boolean {
    if (this.#options.records.areNumbered || this.#reliability) return false;
    if (seq !== this.#incoming.window.next) this.#apply({ type: 'offerLapsed' });
    return true;
  }

  #overflow(): Overflow {
    if (this.#reliability) return 'hold';
    return this.#options.ownsTransport ? 'pause' : 'refuse';
  }

  /** Without acknowledgements a lost record is not sent again: a gap that lasts too long ends the stream. */
  #watchGap(): void {
    if (this.#incoming.window.hasGap && !this.#reliability) {
      this.#cancelGap ??= this.#options.clock.after(limits.gapMs, () => this.fail('a record was lost'));
    } else {
      this.#cancelGap?.();
      this.#cancelGap = undefined;
    }
  }

  #awaitTransport(): void {
    this.#resolveProbes(false);
    this.#reliability?.pause();
    this.#cancelReattach ??= this.#options.clock.after(limits.reattachMs, () => this.fail('no new connection in time'));
    this.#options.onSuspended?.();
  }

  #resume(): void {
    this.#reliability?.resume();
    this.#outgoing.pump();
  }

  #connectedAgain(): void {
    this.#cancelReattach?.();
    this.#cancelReattach = undefined;
  }

  #silent(): void {
    const { transport } = this.#outgoing;
    if (this.#options.ownsTransport) {
      this.suspend('the peer is silent');
      transport?.close();
    } else this.fail('the peer is silent');
  }

  #drained(): void {
    if (this.#state.phase !== 'closing') return;
    this.#apply({ type: 'drained', isAcknowledged: this.#outgoing.sent?.isEmpty ?? true });
  }

  #end({ reason, tellsPeer }: ClosedStream): void {
    const { records, onEnd } = this.#options;
    if (tellsPeer) this.#outgoing.sendBody({ type: 'reset', reason: records.resetReason(reason) });
    this.#resolveProbes(false);
    this.#reliability?.pause();
    this.#cancelGap?.();
    this.#cancelReattach?.();
    this.#outgoing.clear();
    this.#incoming.clear();
    onEnd(reason);
    this.#closed.resolve();
  }
}
