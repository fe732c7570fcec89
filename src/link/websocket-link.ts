import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { Changes, deferred } from '../base/index.ts';
import { limits } from '../protocol/index.ts';
import type { Link, Receiver } from '../rpc/index.ts';
import { Delivery } from './delivery.ts';

export interface WebSocketLinkOptions {
  /** Where messages come from, for error texts. */
  readonly peer: string;
  /** The socket below, if known: lets frames of one turn of the event loop leave in one write. */
  readonly socket?: Socket;
  /** Ping this often and give up on a peer that left two pings unanswered. */
  readonly pingIntervalMs?: number;
}

/** Messages as WebSocket messages; deliveries are confirmed by the pongs every peer must send. */
export class WebSocketLink implements Link {
  readonly source: string;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #ws: WebSocket;
  readonly #socket: Socket | undefined;
  readonly #room = new Changes();
  readonly #delivery: Delivery;
  #corked = false;

  constructor(ws: WebSocket, options: WebSocketLinkOptions) {
    this.source = `websocket JSON-RPC message from exec-server websocket ${options.peer}`;
    this.#ws = ws;
    this.#socket = options.socket;
    this.#delivery = new Delivery((number) => ws.ping(`probe ${number}`));
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
    this.#ws.on('message', (data) => {
      const busy = receive(data as Buffer);
      if (!busy) return;
      this.#ws.pause();
      void busy.then(() => this.#ws.resume());
    });
  }

  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    this.#cork();
    ws.send(message, AS_TEXT, this.#written);
    this.#delivery.sent(message.length, onDelivered);
    if (ws.bufferedAmount > limits.outboxBytes) return this.#roomAgain();
  }

  probe(): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#delivery.probe();
  }

  close(): void {
    this.#ws.close();
  }

  destroy(): void {
    this.#uncork();
    this.#socket?.destroySoon();
    if (!this.#socket) this.#ws.terminate();
    else setTimeout(() => this.#ws.terminate(), LAST_WORDS_MS).unref(); // for a peer that does not take them
  }

  #written = (): void => {
    if (this.#ws.bufferedAmount <= limits.outboxBytes) this.#room.notify();
  };

  async #roomAgain(): Promise<void> {
    const ws = this.#ws;
    while (ws.readyState === ws.OPEN && ws.bufferedAmount > limits.outboxBytes) await this.#room.next();
  }

  /** Holds frames back until the current turn of the event loop is over. */
  #cork(): void {
    if (this.#corked || !this.#socket) return;
    this.#corked = true;
    this.#socket.cork();
    process.nextTick(() => this.#uncork());
  }

  #uncork(): void {
    if (!this.#corked) return;
    this.#corked = false;
    this.#socket?.uncork();
  }

  #keepAlive(intervalMs: number): void {
    let unanswered = 0;
    const timer = setInterval(() => {
      if (unanswered >= 2) return this.#ws.terminate();
      unanswered++;
      this.#ws.ping();
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
