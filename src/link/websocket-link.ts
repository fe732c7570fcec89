import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { Changes, deferred } from '../base/index.ts';
import { limits } from '../protocol/index.ts';
import type { Link, Receiver } from '../rpc/index.ts';
import { Delivery } from './delivery.ts';
import { type ByteHandling, gatherFrames } from './frame-gatherer.ts';
import { FrameWriter, type SendNow } from './frame-writer.ts';
import type { Vigil } from './vigil.ts';

export interface WebSocketLinkOptions {
  /** Where messages come from, for error texts. */
  readonly peer: string;
  /** On the server's side the socket below, for frames that need not take the detour. */
  readonly below?: ByteHandling & { readonly socket: Socket; readonly sendNow: SendNow };
  /** Ping this often and give up on a peer that left two pings unanswered. */
  readonly pingIntervalMs?: number;
  /** Kept for a peer that asks one thing after the other. */
  readonly vigil?: Vigil | undefined;
}

/** Messages as WebSocket messages; deliveries are confirmed by the pongs every peer must send. */
export class WebSocketLink implements Link {
  readonly source: string;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #ws: WebSocket;
  readonly #below: WebSocketLinkOptions['below'];
  readonly #frames: FrameWriter | undefined;
  readonly #vigil: Vigil | undefined;
  readonly #room = new Changes();
  readonly #delivery: Delivery;
  /** Whether nothing is read, because the receiver has enough to do. */
  #busy = false;

  constructor(ws: WebSocket, options: WebSocketLinkOptions) {
    this.source = `websocket JSON-RPC message from exec-server websocket ${options.peer}`;
    this.#ws = ws;
    const below = options.below;
    this.#below = below;
    this.#frames = below && new FrameWriter(below.socket, below.sendNow, this.#written);
    this.#vigil = options.vigil;
    this.#delivery = new Delivery((number) => {
      this.#frames?.flush();
      ws.ping(`probe ${number}`);
    });
    ws.on('pong', (data) => {
      const probe = /^probe (\d+)$/.exec(data.toString('latin1'));
      if (probe) this.#delivery.confirmed(Number(probe[1]));
    });
    ws.on('error', () => ws.terminate()); // reported by `close`, which follows
    ws.on('close', () => {
      this.#room.notify();
      this.#closed.resolve();
    });
    if (options.pingIntervalMs) this.#keepAlive(options.pingIntervalMs);
  }

  open(receive: Receiver): void {
    const inbox: Uint8Array[] = []; // came in one piece with the message the receiver is busy with
    const take = (message: Uint8Array): void => {
      const pending = receive(message);
      if (!pending) return;
      this.#busy = true;
      this.#ws.pause();
      void pending.then(() => {
        this.#busy = false;
        while (!this.#busy && inbox.length > 0) take(inbox.shift()!);
        if (!this.#busy) this.#ws.resume();
      });
    };
    this.#ws.on('message', (data) => {
      if (this.#busy) inbox.push(data as Buffer);
      else take(data as Buffer);
    });
    // Unless the receiver is busy, nothing is on its way from the socket to here between two reads.
    const isOpen = (): boolean => !this.#busy && this.#ws.readyState === this.#ws.OPEN;
    const takeAtOnce = (message: Uint8Array): void => {
      this.#vigil?.heard();
      this.#frames?.hold();
      take(message);
    };
    const taken = (): void => this.#frames?.flush();
    if (this.#below) gatherFrames(this.#below.socket, this.#below, { isOpen, take: takeAtOnce, taken });
  }

  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    this.#vigil?.said();
    if (this.#frames) this.#frames.write(message);
    else ws.send(message, AS_TEXT, this.#written);
    this.#delivery.sent(message.length, onDelivered);
    if (ws.bufferedAmount > limits.outboxBytes) return this.#roomAgain();
  }

  probe(): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#delivery.probe();
  }

  close(): void {
    this.#frames?.flush();
    this.#ws.close();
  }

  destroy(): void {
    this.#frames?.flush();
    this.#below?.socket.destroySoon();
    if (!this.#below) this.#ws.terminate();
    else setTimeout(() => this.#ws.terminate(), LAST_WORDS_MS).unref(); // for a peer that does not take them
  }

  #written = (): void => {
    if (this.#ws.bufferedAmount <= limits.outboxBytes) this.#room.notify();
  };

  async #roomAgain(): Promise<void> {
    const ws = this.#ws;
    while (ws.readyState === ws.OPEN && ws.bufferedAmount > limits.outboxBytes) await this.#room.next();
  }

  #keepAlive(intervalMs: number): void {
    let unanswered = 0;
    const timer = setInterval(() => {
      if (this.#busy) return; // an answer may wait in the socket
      if (unanswered >= 2) return this.#ws.terminate();
      unanswered++;
      this.#delivery.keepAlive();
    }, intervalMs);
    timer.unref();
    this.#ws.on('pong', () => {
      unanswered = 0;
    });
    void this.closed.then(() => clearInterval(timer));
  }
}

const AS_TEXT = { binary: false };
const LAST_WORDS_MS = 1000;
