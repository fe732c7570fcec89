import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { Changes, deferred } from '../../base/index.ts';
import { limits } from '../../protocol/index.ts';
import type { Farewell, Link, Receiver } from '../../rpc/index.ts';
import { Delivery } from './delivery.ts';
import { FastPath, type NativeBytes } from './fast-path.ts';

export interface WebSocketLinkOptions {
  /** Where messages come from, for error texts. */
  readonly peer: string;
  /** On the server's side the socket that carries the frames. */
  readonly rawSocket?: Socket;
  /** For the fast path, where the socket allows it. */
  readonly native?: NativeBytes | undefined;
  /** Ping this often and give up on a peer that left two pings unanswered. */
  readonly pingIntervalMs?: number;
  /** Called when a fault of ours has ended the connection. */
  readonly onFault?: (error: unknown) => void;
}

/** Messages as WebSocket messages; deliveries are confirmed by the pongs every peer must send. */
export class WebSocketLink implements Link {
  readonly source: string;
  readonly noticesLoss: boolean;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #ws: WebSocket;
  readonly #rawSocket: Socket | undefined;
  readonly #fastPath: FastPath | undefined;
  readonly #room = new Changes();
  readonly #delivery: Delivery;
  readonly #answers = new Changes();
  #farewell: Farewell | undefined;
  /** Whether nothing is read, because the receiver has enough to do. */
  #busy = false;
  /** Whether the end was asked for here, so that a closing socket says nothing about the peer. */
  #closing = false;
  #destroyed = false;
  #over = false;

  constructor(ws: WebSocket, options: WebSocketLinkOptions) {
    this.source = `websocket JSON-RPC message from exec-server websocket ${options.peer}`;
    this.noticesLoss = options.pingIntervalMs !== undefined;
    this.#ws = ws;
    const { rawSocket, native } = options;
    this.#rawSocket = rawSocket;
    this.#fastPath = rawSocket && native && FastPath.over(rawSocket, native, this.#written);
    this.#delivery = new Delivery((text) => {
      this.#fastPath?.flush();
      ws.ping(text);
    });
    ws.on('pong', (data) => {
      if (this.#closing) return; // a connection that is being replaced confirms nothing
      try {
        this.#delivery.answered(data.toString('latin1'));
        this.#answers.notify();
      } catch (error) {
        ws.terminate();
        options.onFault?.(error);
      }
    });
    ws.on('error', () => ws.terminate()); // reported by `close`, which follows
    ws.on('close', (code, reason) => this.#end({ code, reason: reason.toString() }));
    if (rawSocket) this.#watchForEnd(rawSocket);
    if (options.pingIntervalMs) this.#keepAlive(options.pingIntervalMs);
  }

  get farewell(): Farewell | undefined {
    return this.#farewell;
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
    const fastPath = this.#fastPath;
    fastPath?.receive({
      // Unless the receiver is busy, no message is on its way through `ws` between two reads of the socket.
      isOpen: () => !this.#busy && this.#ws.readyState === this.#ws.OPEN,
      take: (message) => {
        fastPath.hold();
        take(message);
      },
      consumed: () => fastPath.flush(),
    });
  }

  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    if (this.#fastPath) this.#fastPath.write(message);
    else ws.send(message, AS_TEXT, this.#written);
    this.#delivery.sent(message.length, onDelivered);
    if (ws.bufferedAmount > limits.outboxBytes) return this.#roomAgain();
  }

  probe(): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#delivery.probe();
  }

  async answers(withinMs: number): Promise<boolean> {
    if (this.#over || this.#ws.readyState !== this.#ws.OPEN) return false;
    const probe = this.#delivery.keepAlive();
    const deadline = performance.now() + withinMs;
    while (!this.#over && this.#delivery.confirmed < probe) {
      const timeoutMs = deadline - performance.now();
      if (timeoutMs <= 0) return false;
      await this.#answers.next({ timeoutMs });
    }
    return !this.#over;
  }

  close(farewell?: Farewell): void {
    this.#closing = true;
    this.#fastPath?.flush();
    this.#ws.close(farewell?.code, farewell?.reason);
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#closing = true;
    this.#fastPath?.flush();
    this.#rawSocket?.destroySoon();
    if (!this.#rawSocket) this.#ws.terminate();
    else setTimeout(() => this.#ws.terminate(), LAST_WORDS_MS).unref(); // for a peer that does not take them
  }

  #written = (): void => {
    if (this.#ws.bufferedAmount <= limits.outboxBytes) this.#room.notify();
  };

  async #roomAgain(): Promise<void> {
    const ws = this.#ws;
    while (ws.readyState === ws.OPEN && ws.bufferedAmount > limits.outboxBytes) await this.#room.next();
  }

  /** Nothing more comes and nothing more can be sent. */
  #end(farewell?: Farewell): void {
    if (farewell) this.#farewell = farewell;
    if (this.#over) return;
    this.#over = true;
    this.#room.notify();
    this.#answers.notify();
    this.#closed.resolve();
  }

  /**
   * The connection is over when the close frame or the end of the stream has been read. `ws` reports it only once the
   * socket is gone, some turns of the event loop later, when the client may have asked for its session on another.
   */
  #watchForEnd(socket: Socket): void {
    const check = (): void => {
      if (this.#ws.readyState !== this.#ws.OPEN && !this.#closing) this.#end();
    };
    socket.on('data', check); // after `ws`, which has read the frames of this piece by now
    socket.on('end', check);
    socket.on('error', check);
  }

  #keepAlive(intervalMs: number): void {
    let unanswered = 0;
    const timer = setInterval(() => {
      if (this.#busy) {
        unanswered = 0; // an answer may wait in the socket
        return;
      }
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
