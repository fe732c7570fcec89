import type { Clock } from '../../base/index.ts';
import { encodeDataFrame, encodeFrame, type RelayBody } from '../wire/frame.ts';
import type { FrameTransport, SealedFrame } from '../wire/frame-transport.ts';
import type { RelayError } from '../wire/relay-error.ts';
import { limits } from './limits.ts';
import { Outbox } from './outbox.ts';
import type { RecordSealer } from './record-cipher.ts';
import type { Reliability } from './reliability.ts';
import type { SendWindow } from './send-window.ts';

export interface OutgoingRecordsOptions {
  readonly streamId: string;
  readonly sealer: RecordSealer;
  readonly transport: FrameTransport;
  /** Keeps what was sent, for a peer that acknowledges it or may yet agree to. */
  readonly sent: SendWindow | undefined;
  readonly clock: Clock;
  onFailure(error: RelayError): void;
  /** Called when everything was sent. */
  onIdle(): void;
}

/** The way from messages to frames: cut into records, encrypted, sent when window and connection have room. */
export class OutgoingRecords {
  readonly #options: OutgoingRecordsOptions;
  readonly #outbox = new Outbox();
  readonly #deliveries: { readonly seq: number; readonly onDelivered: () => void }[] = [];
  /** Frames to be sent again; no more than are under way. */
  readonly #repeats = new Set<SealedFrame>();
  #sent: SendWindow | undefined;
  /** The connection there is at the moment. */
  transport: FrameTransport | undefined;
  /** The transport that has no room, if it is still ours. */
  #full: FrameTransport | undefined;
  /** Set as soon as the peer has agreed. */
  reliability: Reliability | undefined;

  constructor(options: OutgoingRecordsOptions) {
    this.#options = options;
    this.#sent = options.sent;
    this.transport = options.transport;
  }

  /** What was sent and may have to be sent again; nothing once the peer has shown that it does not agree. */
  get sent(): SendWindow | undefined {
    return this.#sent;
  }

  get isEmpty(): boolean {
    return this.#outbox.isEmpty;
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
  resend(frames: readonly SealedFrame[]): void {
    for (const frame of frames) this.#repeats.add(frame);
    this.pump();
  }

  /** Sends what there is room for. */
  pump(): void {
    try {
      this.#repeat();
      while (!this.#outbox.isEmpty && this.#hasRoom && this.#windowHasRoom()) this.#sendRecord(this.transport!);
    } catch (error) {
      this.#options.onFailure(error as RelayError);
    }
    if (this.#outbox.isEmpty) this.#options.onIdle();
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
    const { sealer, streamId, clock } = this.#options;
    const most = this.reliability ? limits.largeRecordBytes : limits.recordBytes;
    const { plaintext, onDelivered } = this.#outbox.nextRecord(most);
    const { seq } = sealer;
    const head = { streamId, ...this.reliability?.acknowledgement };
    const frame = encodeDataFrame(head, seq, sealer.seal(plaintext));
    if (onDelivered) this.#deliveries.push({ seq, onDelivered });
    if (this.reliability) this.reliability.frameSent(seq, frame);
    else this.#sent?.sent(seq, frame, clock.now());
    const isConfirmedBelow = onDelivered && !this.reliability;
    this.#await(transport, transport.send(frame, isConfirmedBelow ? () => this.#confirmedBelow(seq) : undefined));
  }

  /** The connection knows no more than that its other end has the frame; acknowledgements count more. */
  #confirmedBelow(seq: number): void {
    if (!this.reliability) this.confirm(seq + 1);
  }

  /** Whether the window lets another record out. A peer that has not agreed by the time it is full does not agree. */
  #windowHasRoom(): boolean {
    if (!this.#sent || this.#sent.hasRoom) return true;
    if (!this.reliability) this.#sent = undefined;
    return !this.reliability;
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
