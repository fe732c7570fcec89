import { concatBytes, deferred, encodeUtf8 } from '../../base/index.ts';
import type { Link, Receiver } from '../../rpc/index.ts';
import { encodeDataFrame, encodeFrame, type RelayBody, type RelayFrame } from '../wire/frame.ts';
import type { FrameTransport } from '../wire/frame-transport.ts';
import { RelayError } from '../wire/relay-error.ts';
import { Inbox } from './inbox.ts';
import { limits } from './limits.ts';
import { requireMessageLength } from './message-assembler.ts';

export interface PlainStreamOptions {
  readonly streamId: string;
  readonly transport: FrameTransport;
  /** Whether nothing else uses the transport: then it may be left unread. */
  readonly ownsTransport: boolean;
  onEnd(reason: string): void;
}

/** A stream of the older relay: clear messages, one per data frame, in the order of the connection. */
export class PlainStream implements Link {
  readonly source: string;
  readonly noticesLoss = true;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #options: PlainStreamOptions;
  readonly #inbox = new Inbox(() => this.#roomAgain());
  #room = deferred();
  /** Of a message that goes on in the next frame. */
  #segments: Uint8Array[] = [];
  #segmentBytes = 0;
  #first = 0;
  #seq = 0;
  #isOver = false;

  constructor(options: PlainStreamOptions) {
    this.source = `relay JSON-RPC message from exec-server relay stream ${options.streamId}`;
    this.#options = options;
  }

  open(receive: Receiver): void {
    this.#inbox.open(receive);
  }

  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    if (this.#isOver) return;
    const payload = typeof message === 'string' ? encodeUtf8(message) : message;
    requireMessageLength(payload.length);
    const { streamId, transport } = this.#options;
    const frame = concatBytes(encodeDataFrame({ streamId }, this.#seq, [payload]));
    this.#seq = (this.#seq + 1) >>> 0; // nothing depends on it here, so it may come round
    return transport.send(frame, onDelivered);
  }

  probe(): void {
    this.#options.transport.probe();
  }

  close(): void {
    this.fail('closed');
  }

  destroy(): void {
    this.fail('closed');
  }

  /** Takes a frame of this stream. The promise, if any, resolves once there is room for more. */
  receive({ body }: RelayFrame): void | Promise<void> {
    if (this.#isOver) return;
    if (body.type === 'reset') return this.end('reset by the peer');
    if (body.type === 'data') this.#take(body);
    if (this.#options.ownsTransport && !this.#inbox.hasRoom(limits.slowedInboxBytes)) return this.#room.promise;
  }

  /** Ends the stream and tells the peer. */
  fail(reason: string): void {
    const { streamId, transport } = this.#options;
    if (!this.#isOver) void transport.send(encodeFrame({ streamId, body: { type: 'reset', reason } }));
    this.end(reason);
  }

  end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#inbox.clear();
    this.#room.resolve();
    this.#options.onEnd(reason);
    this.#closed.resolve();
  }

  #take(data: RelayBody & { type: 'data' }): void {
    try {
      const message = data.segmentCount === 1 ? data.payload : this.#join(data);
      if (message) this.#hand(message);
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  #hand(message: Uint8Array): void {
    if (!this.#options.ownsTransport && !this.#inbox.hasRoom(limits.inboxBytes)) {
      throw new RelayError('the application is slower than the peer');
    }
    this.#inbox.push(message);
  }

  /** Adds a segment and gives the message it completes. */
  #join({ seq, segmentIndex, segmentCount, payload }: RelayBody & { type: 'data' }): Uint8Array | undefined {
    const first = (seq - segmentIndex) >>> 0;
    if (segmentIndex === 0) this.#first = first;
    if (segmentIndex !== this.#segments.length || first !== this.#first) throw new RelayError('a segment is missing');
    this.#segments.push(payload);
    this.#segmentBytes += payload.length;
    requireMessageLength(this.#segmentBytes);
    if (this.#segments.length < segmentCount) return undefined;
    this.#segmentBytes = 0;
    return concatBytes(this.#segments.splice(0));
  }

  #roomAgain(): void {
    if (!this.#inbox.hasRoom(limits.slowedInboxBytes)) return;
    this.#room.resolve();
    this.#room = deferred();
  }
}
