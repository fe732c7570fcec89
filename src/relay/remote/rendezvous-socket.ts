import type { WebSocket } from 'ws';
import { concatBytes } from '../../base/index.ts';
import type { Outgoing } from '../../host/http/index.ts';
import { MessageSocket } from '../../link/index.ts';
import type { FrameReceiver, FrameTransport, SealedFrame } from '../index.ts';
import { openWebSocket } from './open-websocket.ts';

export interface RendezvousSocketOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** What to do about a text message: environments ignore it, harnesses disconnect. */
  readonly onText: 'ignore' | 'disconnect';
  /** The largest message; only the plain relay has larger ones. */
  readonly maxPayload?: number;
  readonly outgoing: Outgoing;
}

/** The largest message either end of a rendezvous may send. */
const MESSAGE_BYTES = 262_144;
const OUTBOX_BYTES = 1024 * 1024;

/** Opens the websocket at the URL that a registry gave out. */
export function openRendezvousSocket(
  url: string,
  options: RendezvousSocketOptions,
  signal: AbortSignal,
): Promise<RendezvousSocket> {
  const take = (ws: WebSocket): RendezvousSocket => new RendezvousSocket(ws, options);
  return openWebSocket(url, { maxPayload: MESSAGE_BYTES, ...options }, take, signal);
}

/** Frames as the binary messages of one websocket. */
export class RendezvousSocket implements FrameTransport {
  readonly closed: Promise<void>;
  readonly #messages: MessageSocket;
  readonly #onText: RendezvousSocketOptions['onText'];

  constructor(ws: WebSocket, { onText }: Pick<RendezvousSocketOptions, 'onText'>) {
    ws.pause(); // until `open`: frames may come along with the answer to the upgrade
    this.#messages = new MessageSocket(ws, { type: 'binary', outboxBytes: OUTBOX_BYTES, pingIntervalMs: PING_MS });
    this.closed = this.#messages.closed;
    this.#onText = onText;
  }

  /** How the connection ended, once it has. */
  get closeCode(): number | undefined {
    return this.#messages.closeReason?.code;
  }

  open(receive: FrameReceiver): void {
    this.#messages.open((message, isBinary) => {
      if (!this.#messages.isOpen) return; // read in one chunk with the text that ended the connection
      if (isBinary) return receive(message);
      if (this.#onText === 'disconnect') this.#messages.destroy();
    });
  }

  send(frame: Uint8Array | SealedFrame, onDelivered?: () => void): void | Promise<void> {
    return this.#messages.send(frame instanceof Uint8Array ? frame : concatBytes(frame), onDelivered);
  }

  probe(): void {
    this.#messages.probe();
  }

  close(): void {
    this.#messages.close({ code: NORMAL_CLOSURE, reason: '' });
    const timeout = setTimeout(() => this.destroy(), CLOSE_MS);
    void this.closed.then(() => clearTimeout(timeout));
  }

  destroy(): void {
    this.#messages.destroy();
  }
}

const NORMAL_CLOSURE = 1000;
const PING_MS = 30_000;
/** How long the rendezvous may take to answer a close frame. */
const CLOSE_MS = 500;
