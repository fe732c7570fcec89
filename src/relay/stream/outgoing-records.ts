import type { Clock } from '../../base/index.ts';
import { encodeFrame, type RelayBody } from '../wire/frame.ts';
import type { FrameTransport, OutgoingFrame } from '../wire/frame-transport.ts';
import type { RelayError } from '../wire/relay-error.ts';
import { Outbox } from './outbox.ts';
import type { Records } from './records.ts';
import type { Reliability } from './reliability.ts';
import type { SendWindow } from './send-window.ts';

export interface OutgoingRecordsOptions {
  readonly streamId: string;
  readonly records: Records;
  readonly transport: FrameTransport;
  /** Keeps sent frames for a peer that acknowledges them, or may yet agree to. */
  readonly sent: SendWindow | undefined;
  readonly clock: Clock;
  onFailure(error: RelayError): void;
  /** Called when the window is full and the peer has not agreed to acknowledge. */
  onOfferLapsed(): void;
  /** Called when everything was sent. */
  onDrained(): void;
}

/** Turns messages into frames: cuts and numbers records, and sends them when window and connection have room. */
export class OutgoingRecords {
  readonly #options: OutgoingRecordsOptions;
  readonly #outbox = new Outbox();
  readonly #deliveries: { readonly seq: number; readonly onDelivered: () => void }[] = [];
  /** Frames to be sent again, at most as many as are in the window. */
  readonly #repeats = new Set<OutgoingFrame>();
  #sent: SendWindow | undefined;
  /** The current connection. */
  transport: FrameTransport | undefined;
  /** The transport that has no room, if it is still the current one. */
  #full: FrameTransport | undefined;
  /** Set as soon as the peer has agreed to acknowledge. */
  reliability: Reliability | undefined;

  constructor(options: OutgoingRecordsOptions) {
    this.#options = options;
    this.#sent = options.sent;
    this.transport = options.transport;
  }

  /** The frames that may have to be sent again. */
  get sent(): SendWindow | undefined {
    return this.#sent;
  }

  send(message: string | Uint8Array, onDelivered: (() => void) | undefined): void | Promise<void> {
    this.#outbox.push(message, onDelivered);
    this.pump();
    return this.#outbox.room();
  }

  /** Sends a frame without data. */
  sendBody(body: RelayBody): void {
    const frame = encodeFrame({ streamId: this.#options.streamId, ...this.reliability?.acknowledgement, body });
    void this.transport?.send(frame);
  }

  /** Sends frames again, as soon as there is room. */
  resend(frames: readonly OutgoingFrame[]): void {
    for (const frame of frames) this.#repeats.add(frame);
    this.pump();
  }

  /** Keeps no frames any more: the peer acknowledges none. */
  forgetSent(): void {
    this.#sent = undefined;
  }

  /** Sends as much as there is room for. */
  pump(): void {
    try {
      this.#repeat();
      while (!this.#outbox.isEmpty && this.#hasRoom && this.#windowHasRoom()) this.#sendRecord(this.transport!);
    } catch (error) {
      this.#options.onFailure(error as RelayError);
    }
    if (this.#outbox.isEmpty) this.#options.onDrained();
  }

  /** Everything before `next` is delivered. */
  confirm(next: number): void {
    let ready = 0;
    while (ready < this.#deliveries.length && this.#deliveries[ready]!.seq < next) ready++;
    if (ready === 0) return;
    for (const { onDelivered } of this.#deliveries.splice(0, ready)) onDelivered();
  }

  /** Sends nothing until there is another transport. */
  disconnect(): void {
    this.transport = undefined;
    this.#repeats.clear();
  }

  clear(): void {
    this.#outbox.clear();
    this.#deliveries.length = 0;
    this.disconnect();
  }

  get #hasRoom(): boolean {
    return this.transport !== undefined && this.#full !== this.transport;
  }

  #repeat(): void {
    for (const frame of this.#repeats) {
      if (!this.#hasRoom) return;
      this.#repeats.delete(frame);
      this.#await(this.transport!, this.transport!.send(frame));
    }
  }

  #sendRecord(transport: FrameTransport): void {
    const { records, streamId, clock } = this.#options;
    const { seq } = records;
    const head = { streamId, ...this.reliability?.acknowledgement };
    const isAcknowledged = this.reliability !== undefined;
    const { record: frame, onDelivered } = this.#outbox.cut((message) => records.frame(message, head, isAcknowledged));
    if (onDelivered) this.#deliveries.push({ seq, onDelivered });
    if (this.reliability) this.reliability.frameSent(seq, frame);
    else this.#sent?.sent(seq, frame, clock.now());
    const isConfirmedByTransport = onDelivered && !isAcknowledged;
    const onSent = isConfirmedByTransport ? () => this.#deliveredByTransport(seq) : undefined;
    this.#await(transport, transport.send(frame, onSent));
  }

  /** The connection has delivered a frame to its other end. With acknowledgements only those of the peer count. */
  #deliveredByTransport(seq: number): void {
    if (!this.reliability) this.confirm(seq + 1);
  }

  /** Whether the window has room for another record. If the peer has not agreed to acknowledge when the window is full, the offer lapses. */
  #windowHasRoom(): boolean {
    if (!this.#sent || this.#sent.hasRoom) return true;
    if (this.reliability) return false;
    this.#options.onOfferLapsed();
    return true;
  }

  #await(transport: FrameTransport, room: void | Promise<void>): void {
    if (!room) return;
    this.#full = transport;
    void room.then(() => {
      if (this.#full === transport) this.#full = undefined;
      this.pump();
    });
  }
}
