import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { Changes, deferred } from '../../base/index.ts';
import type { CloseReason } from '../../rpc/index.ts';
import { Delivery } from './delivery.ts';
import { FastPath, type NativeBytes } from './fast-path.ts';
import { KeepAlive } from './keep-alive.ts';

export interface MessageSocketOptions {
  /** How messages are sent. */
  readonly type: 'text' | 'binary';
  /** Senders wait while more bytes than this wait to be sent. */
  readonly outboxBytes: number;
  /** Ping this often, and end the connection if the peer has not answered two intervals later. */
  readonly pingIntervalMs?: number | undefined;
  /** On a server, the socket that carries the frames. */
  readonly rawSocket?: Socket | undefined;
  /** The operations of the fast path, if the socket may use it; only for text. */
  readonly native?: NativeBytes | undefined;
  /** Called when an internal error has ended the connection. */
  readonly onFault?: ((error: unknown) => void) | undefined;
}

/** Takes messages in order. While a returned promise is pending no other message is handed over, and the socket is not read. */
export type MessageHandler = (message: Uint8Array, isBinary: boolean) => void | Promise<void>;

/**
 * Whole messages over one WebSocket: senders wait for a slow peer and the peer for a slow receiver, pongs confirm deliveries, and the
 * connection to a silent peer ends.
 */
export class MessageSocket {
  readonly #closed = deferred();
  /** Settles when no message can arrive or be sent any more. */
  readonly closed = this.#closed.promise;
  readonly #ws: WebSocket;
  readonly #options: MessageSocketOptions;
  readonly #format: { readonly binary: boolean };
  readonly #fastPath: FastPath | undefined;
  readonly #room = new Changes();
  readonly #delivery: Delivery;
  readonly #pongs = new Changes();
  readonly #keepAlive: KeepAlive | undefined;
  #closeReason: CloseReason | undefined;
  /** Whether the handler is busy, so that the socket is not read. */
  #busy = false;
  /** Whether this side has ended the connection, so that a closing socket is not a loss of the peer. */
  #closing = false;
  #destroyed = false;
  #over = false;

  /** @internal The types of `ws` are not installed with this package. */
  constructor(ws: WebSocket, options: MessageSocketOptions) {
    const { rawSocket, native, pingIntervalMs } = options;
    this.#ws = ws;
    this.#options = options;
    this.#format = { binary: options.type === 'binary' };
    this.#fastPath = rawSocket && native && FastPath.over(rawSocket, native, this.#written);
    this.#delivery = new Delivery((text) => {
      this.#fastPath?.flush();
      ws.ping(text);
    });
    if (pingIntervalMs !== undefined) {
      const ping = (): void => void this.#delivery.probeNow();
      this.#keepAlive = new KeepAlive(ping, () => ws.terminate(), pingIntervalMs);
    }
    ws.on('pong', (data) => this.#answered(data.toString('latin1')));
    ws.on('error', () => ws.terminate()); // reported by `close`, which follows
    ws.on('close', (code, reason) => this.#end({ code, reason: reason.toString() }));
    if (rawSocket) this.#watchForEnd(rawSocket);
  }

  get isOpen(): boolean {
    return !this.#over && this.#ws.readyState === this.#ws.OPEN;
  }

  /** Why the peer, or the network, ended the connection. */
  get closeReason(): CloseReason | undefined {
    return this.#closeReason;
  }

  /** Starts handing over messages, and resumes a paused `ws`. Called once. */
  open(handle: MessageHandler): void {
    const ws = this.#ws;
    const inbox: [Uint8Array, boolean][] = []; // messages that arrived in one chunk with the one that is being handled
    const take = (message: Uint8Array, isBinary: boolean): void => {
      const pending = handle(message, isBinary);
      if (!pending) return;
      this.#setBusy(true);
      void pending.then(() => {
        this.#busy = false;
        while (!this.#busy && inbox.length > 0) take(...inbox.shift()!);
        if (!this.#busy) this.#setBusy(false);
      });
    };
    ws.on('message', (data, isBinary) => {
      if (this.#busy) inbox.push([data as Buffer, isBinary]);
      else take(data as Buffer, isBinary);
    });
    const fastPath = this.#fastPath;
    fastPath?.receive({
      // While the handler is not busy, no message is on its way through `ws` between two reads of the socket.
      isOpen: () => !this.#busy && ws.readyState === ws.OPEN,
      take: (message) => {
        fastPath.hold();
        take(message, false);
      },
      consumed: () => fastPath.flush(),
    });
    ws.resume();
  }

  /** Queues a message; the promise, if any, resolves once there is room for more or the connection is over. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    if (this.#fastPath) this.#fastPath.write(message);
    else ws.send(message, this.#format, this.#written);
    this.#delivery.sent(message.length, onDelivered);
    if (ws.bufferedAmount > this.#options.outboxBytes) return this.#roomAgain();
  }

  /** Asks the peer to confirm the messages sent so far. */
  probe(): void {
    if (this.isOpen) this.#delivery.probe();
  }

  /** Whether the peer answers a probe in time; false also when the connection ends. */
  async answers(withinMs: number): Promise<boolean> {
    if (!this.isOpen) return false;
    const probe = this.#delivery.probeNow();
    const deadline = performance.now() + withinMs;
    while (!this.#over && this.#delivery.confirmed < probe) {
      const timeoutMs = deadline - performance.now();
      if (timeoutMs <= 0) return false;
      await this.#pongs.next({ timeoutMs });
    }
    return !this.#over;
  }

  /** Ends the connection with a close frame, and terminates it when the peer has not answered in time. */
  close(closeReason?: CloseReason): void {
    this.#closing = true;
    this.#fastPath?.flush();
    this.#ws.close(closeReason?.code, closeReason?.reason);
  }

  /** Ends the connection without a close frame, after sending the messages that are queued. */
  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#closing = true;
    this.#fastPath?.flush();
    const { rawSocket } = this.#options;
    rawSocket?.destroySoon();
    if (!rawSocket) this.#ws.terminate();
    else setTimeout(() => this.#ws.terminate(), FLUSH_MS).unref(); // for a peer that does not read
  }

  #setBusy(busy: boolean): void {
    this.#busy = busy;
    if (busy) {
      this.#keepAlive?.pause();
      this.#ws.pause();
    } else {
      this.#keepAlive?.resume();
      this.#ws.resume();
    }
  }

  #answered(text: string): void {
    if (this.#closing) return; // a connection that this side has ended confirms no delivery
    this.#keepAlive?.answered();
    try {
      this.#delivery.answered(text);
      this.#pongs.notify();
    } catch (error) {
      this.#ws.terminate();
      if (!this.#options.onFault) throw error;
      this.#options.onFault(error);
    }
  }

  #written = (): void => {
    if (this.#ws.bufferedAmount <= this.#options.outboxBytes) this.#room.notify();
  };

  async #roomAgain(): Promise<void> {
    const ws = this.#ws;
    while (ws.readyState === ws.OPEN && ws.bufferedAmount > this.#options.outboxBytes) await this.#room.next();
  }

  #end(closeReason?: CloseReason): void {
    if (closeReason) this.#closeReason = closeReason;
    if (this.#over) return;
    this.#over = true;
    this.#keepAlive?.[Symbol.dispose]();
    this.#room.notify();
    this.#pongs.notify();
    this.#closed.resolve();
  }

  /**
   * Ends the connection as soon as the close frame or the end of the stream has been read. `ws` reports it only when the socket is
   * closed, some turns of the event loop later, when the client may have asked for its session on another connection.
   */
  #watchForEnd(socket: Socket): void {
    const check = (): void => {
      if (this.#ws.readyState !== this.#ws.OPEN && !this.#closing) this.#end();
    };
    socket.on('data', check); // after the listener of `ws`, which has read the frames of this chunk
    socket.on('end', check);
    socket.on('error', check);
  }
}

/** How long a peer may take to receive the messages sent before `destroy`. */
const FLUSH_MS = 1000;
