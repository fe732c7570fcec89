import { type Clock, type Deferred, deferred } from '../../base/index.ts';
import type { Link, Receiver } from '../../rpc/index.ts';
import type { RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import type { Session } from './handshake.ts';
import { IncomingRecords, type Overflow } from './incoming-records.ts';
import { limits } from './limits.ts';
import { OutgoingRecords } from './outgoing-records.ts';
import { Reliability } from './reliability.ts';
import { SendWindow } from './send-window.ts';

/** What every reset says, whatever the cause: the reference's only reason. */
export const RESET_REASON = 'noise_relay_protocol_error';

export interface NoiseStreamOptions {
  readonly streamId: string;
  readonly session: Session;
  readonly transport: FrameTransport;
  /** Whether deliveries are acknowledged: never, if the peer turns out to know how, or as agreed. */
  readonly reliability: 'none' | 'offered' | 'agreed';
  /** Whether nothing else uses the transport: then it may be left unread, and closed. */
  readonly ownsTransport: boolean;
  readonly clock: Clock;
  /** Called when a stream that survives it has lost its connection. */
  onSuspended?(): void;
  onEnd(reason: string): void;
}

/**
 * open ──connection lost──▶ suspended ──attach──▶ open      (with acknowledged delivery only)
 *   └──close──▶ finishing ──all sent──▶ over                (whatever goes wrong leads to over at once)
 */
type Phase = 'open' | 'suspended' | 'finishing' | 'over';

/** A stream after its handshake: messages in encrypted records. */
export class NoiseStream implements Link {
  readonly source: string;
  readonly noticesLoss = true;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #options: NoiseStreamOptions;
  readonly #outgoing: OutgoingRecords;
  readonly #incoming: IncomingRecords;
  #phase: Phase = 'open';
  #reliability: Reliability | undefined;
  /** Whether the end does not wait for acknowledgements. */
  #isHurried = false;
  /** Wait for a sign of life. */
  #asked: Deferred<boolean>[] = [];
  #cancelGap: (() => void) | undefined;
  /** Runs from the loss of a connection until the peer is heard on another. */
  #cancelReattach: (() => void) | undefined;

  constructor(options: NoiseStreamOptions) {
    const { streamId, session, transport, clock, reliability } = options;
    const onFailure = ({ message }: Error): void => this.fail(message);
    this.source = `relay JSON-RPC message from exec-server relay stream ${streamId}`;
    this.#options = options;
    this.#outgoing = new OutgoingRecords({
      streamId,
      sealer: session.sealer,
      transport,
      sent: reliability === 'none' ? undefined : new SendWindow(),
      clock,
      onFailure,
      onIdle: () => this.#finishIfDone(),
    });
    this.#incoming = new IncomingRecords({
      opener: session.opener,
      recordBytes: reliability === 'none' ? limits.recordBytes : limits.largeRecordBytes,
      limitBytes: reliability === 'none' ? limits.reorderBytes : limits.windowBytes,
      overflow: () => this.#overflow(),
      onAdvanced: () => this.#reliability?.acknowledge(),
      onFailure,
    });
    if (reliability === 'agreed') this.#agree();
  }

  open(receive: Receiver): void {
    this.#incoming.open(receive);
  }

  /** Throws when the message is larger than a relay carries. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    if (this.#phase === 'open' || this.#phase === 'suspended') return this.#outgoing.send(message, onDelivered);
  }

  probe(): void {
    if (!this.#reliability) this.#outgoing.transport?.probe(); // acknowledgements come by themselves
  }

  /**
   * A stream that waits for its peer to come back on another connection has lost it for the time being. Without acknowledgements
   * the peer cannot be asked: the rendezvous ends the stream when it misses the peer.
   */
  async answers(withinMs: number): Promise<boolean> {
    if (this.#phase !== 'open' || !this.#reliability) return this.#phase === 'open';
    const answer = deferred<boolean>();
    this.#asked.push(answer);
    const cancel = this.#options.clock.after(withinMs, () => answer.resolve(false));
    this.#reliability.ask();
    return answer.promise.finally(cancel);
  }

  close(): void {
    this.#finish();
  }

  destroy(): void {
    this.#isHurried = true;
    this.#finish();
  }

  /** Takes a frame of this stream. The promise, if any, resolves once there is room for more. */
  receive(frame: RelayFrame): void | Promise<void> {
    if (this.#phase === 'over') return;
    const { body } = frame;
    this.#cancelReattach?.();
    this.#cancelReattach = undefined;
    if (body.type === 'reset') return this.#end('reset by the peer');
    if (body.type === 'heartbeat' || body.type === 'ack') this.#agree();
    this.#answerAsked(true);
    if (this.#reliability) this.#heard(frame, this.#reliability);
    if (body.type === 'data') this.#take(body.seq, body.payload);
    if (this.#overflow() === 'pause') return this.#incoming.room();
  }

  /** Continues on a new connection. */
  attach(transport: FrameTransport): void {
    if (this.#phase !== 'suspended') return;
    this.#phase = 'open';
    this.#outgoing.transport = transport;
    this.#reliability?.resume();
    this.#outgoing.pump();
  }

  /** The connection is lost. Without acknowledgements nobody knows what arrived, so the stream is over as well. */
  suspend(reason: string): void {
    this.#outgoing.disconnect();
    if (this.#reliability && this.#phase === 'open') this.#awaitTransport();
    else if (this.#phase !== 'suspended') this.#end(reason);
  }

  /** Ends the stream and tells the peer. */
  fail(reason: string): void {
    if (this.#phase !== 'over') this.#outgoing.sendBody({ type: 'reset', reason: RESET_REASON });
    this.#end(reason);
  }

  /** The peer has shown that it acknowledges deliveries, which means nothing where it was not offered. */
  #agree(): void {
    if (this.#reliability || this.#options.reliability === 'none') return;
    const { sent } = this.#outgoing;
    if (!sent) {
      this.fail('the peer acknowledges deliveries too late');
      return;
    }
    this.#reliability = new Reliability({
      clock: this.#options.clock,
      sent,
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

  #answerAsked(isThere: boolean): void {
    for (const answer of this.#asked.splice(0)) answer.resolve(isThere);
  }

  #heard(frame: RelayFrame, reliability: Reliability): void {
    reliability.heard(frame);
    this.#outgoing.confirm(this.#outgoing.sent?.base ?? 0);
    this.#outgoing.pump();
  }

  #take(seq: number, record: Uint8Array): void {
    if (this.#phase === 'over') return;
    try {
      const news = this.#incoming.take(seq, record);
      this.#watchGap();
      this.#reliability?.frameArrived(record.length, news);
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  #overflow(): Overflow {
    if (this.#reliability) return 'hold';
    return this.#options.ownsTransport ? 'pause' : 'refuse';
  }

  /** What was overtaken and is not sent again by anybody must come soon, or it never will. */
  #watchGap(): void {
    if (this.#incoming.window.hasGap && !this.#reliability) {
      this.#cancelGap ??= this.#options.clock.after(limits.gapMs, () => this.fail('a record was lost'));
    } else {
      this.#cancelGap?.();
      this.#cancelGap = undefined;
    }
  }

  #awaitTransport(): void {
    this.#phase = 'suspended';
    this.#answerAsked(false);
    this.#reliability?.pause();
    this.#cancelReattach ??= this.#options.clock.after(limits.reattachMs, () => this.fail('no new connection in time'));
    this.#options.onSuspended?.();
  }

  #silent(): void {
    const { transport } = this.#outgoing;
    if (this.#options.ownsTransport) {
      this.suspend('the peer is silent');
      transport?.close();
    } else this.fail('the peer is silent');
  }

  #finish(): void {
    if (this.#phase === 'over') return;
    if (this.#phase !== 'finishing') this.#options.clock.after(limits.lastWordsMs, () => this.fail('closed'));
    this.#phase = 'finishing';
    this.#outgoing.pump();
  }

  #finishIfDone(): void {
    if (this.#phase !== 'finishing') return;
    const isAcknowledged = !this.#reliability || this.#isHurried || this.#outgoing.sent?.isEmpty;
    if (isAcknowledged) this.fail('closed');
  }

  #end(reason: string): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#answerAsked(false);
    this.#reliability?.pause();
    this.#cancelGap?.();
    this.#cancelReattach?.();
    this.#outgoing.clear();
    this.#incoming.clear();
    this.#options.onEnd(reason);
    this.#closed.resolve();
  }
}
