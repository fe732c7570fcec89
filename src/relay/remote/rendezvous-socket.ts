import type { WebSocket } from 'ws';
import { Changes, concatBytes, deferred } from '../../base/index.ts';
import type { Outgoing } from '../../host/http/index.ts';
import { Delivery } from '../../link/index.ts';
import type { FrameReceiver, FrameTransport, SealedFrame } from '../index.ts';
import { KeepAlive } from './keep-alive.ts';
import { openWebSocket } from './open-websocket.ts';

export interface RendezvousSocketOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** An environment overlooks text; a harness takes it as the end. */
  readonly onText: 'ignore' | 'disconnect';
  /** The largest message; only the older plain relay has larger ones. */
  readonly maxPayload?: number;
  readonly outgoing: Outgoing;
}

/** The largest message either end of a rendezvous may send. */
const MESSAGE_BYTES = 262_144;
const OUTBOX_BYTES = 1024 * 1024;

/** Opens the websocket a registry gave the address of. */
export function openRendezvousSocket(
  url: string,
  options: RendezvousSocketOptions,
  signal: AbortSignal,
): Promise<RendezvousSocket> {
  const take = (ws: WebSocket): RendezvousSocket => new RendezvousSocket(ws, options);
  return openWebSocket(url, { maxPayload: MESSAGE_BYTES, ...options }, take, signal);
}

/** Frames as binary messages of one websocket; pongs tell what has arrived and whether the peer is there. */
export class RendezvousSocket implements FrameTransport {
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #ws: WebSocket;
  readonly #room = new Changes();
  readonly #onText: RendezvousSocketOptions['onText'];
  readonly #delivery: Delivery;
  readonly #alive: KeepAlive;
  #closeCode: number | undefined;

  constructor(ws: WebSocket, { onText }: RendezvousSocketOptions) {
    this.#ws = ws;
    this.#onText = onText;
    ws.pause(); // until there is somebody to take the frames
    this.#delivery = new Delivery((text) => ws.ping(text));
    this.#alive = new KeepAlive(
      () => this.#delivery.keepAlive(),
      () => ws.terminate(),
    );
    ws.on('pong', (data) => {
      this.#alive.answered();
      this.#delivery.answered(data.toString('latin1'));
    });
    ws.on('error', () => ws.terminate()); // reported by `close`, which follows
    ws.on('close', (code) => {
      this.#alive[Symbol.dispose]();
      this.#closeCode = code;
      this.#room.notify();
      this.#closed.resolve();
    });
  }

  /** How the connection ended, once it has. */
  get closeCode(): number | undefined {
    return this.#closeCode;
  }

  open(receive: FrameReceiver): void {
    const ws = this.#ws;
    const inbox: Uint8Array[] = []; // came in one piece with the frame the receiver is busy with
    let busy = false;
    const take = (frame: Uint8Array): void => {
      const pending = receive(frame);
      if (!pending) return;
      busy = true;
      ws.pause();
      this.#alive.pause();
      void pending.then(() => {
        busy = false;
        while (!busy && inbox.length > 0) take(inbox.shift()!);
        if (busy) return;
        this.#alive.resume();
        ws.resume();
      });
    };
    ws.on('message', (data, isBinary) => {
      if (ws.readyState !== ws.OPEN) return; // what came in one piece with the reason to end
      if (!isBinary) this.#text();
      else if (busy) inbox.push(data as Buffer);
      else take(data as Buffer);
    });
    ws.resume();
  }

  send(frame: Uint8Array | SealedFrame, onDelivered?: () => void): void | Promise<void> {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    const bytes = frame instanceof Uint8Array ? frame : concatBytes(frame);
    ws.send(bytes, AS_BINARY, this.#written);
    this.#delivery.sent(bytes.length, onDelivered);
    if (ws.bufferedAmount > OUTBOX_BYTES) return this.#roomAgain();
  }

  probe(): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#delivery.probe();
  }

  close(): void {
    this.#ws.close(1000);
    const patience = setTimeout(() => this.#ws.terminate(), GOODBYE_MS);
    void this.closed.then(() => clearTimeout(patience));
  }

  destroy(): void {
    this.#ws.terminate();
  }

  #text(): void {
    if (this.#onText === 'disconnect') this.#ws.terminate();
  }

  #written = (): void => {
    if (this.#ws.bufferedAmount <= OUTBOX_BYTES) this.#room.notify();
  };

  async #roomAgain(): Promise<void> {
    const ws = this.#ws;
    while (ws.readyState === ws.OPEN && ws.bufferedAmount > OUTBOX_BYTES) await this.#room.next();
  }
}

const AS_BINARY = { binary: true };
const GOODBYE_MS = 500;
