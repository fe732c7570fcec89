import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { limits } from '../../protocol/index.ts';
import type { CloseReason, Link, Receiver } from '../../rpc/index.ts';
import type { NativeBytes } from './fast-path.ts';
import { MessageSocket } from './message-socket.ts';

export interface WebSocketLinkOptions {
  /** The address of the peer, for error texts and logs. */
  readonly peer: string;
  /** On a server, the socket that carries the frames. */
  readonly rawSocket?: Socket;
  /** The operations of the fast path, if the socket may use it. */
  readonly native?: NativeBytes | undefined;
  /** Ping this often, and end the connection if the peer has not answered two intervals later. */
  readonly pingIntervalMs?: number;
  /** Called when an internal error has ended the connection. */
  readonly onFault?: (error: unknown) => void;
}

/** JSON-RPC messages as WebSocket messages; deliveries are confirmed by the pongs every peer must send. */
export class WebSocketLink implements Link {
  readonly source: string;
  readonly peer: string;
  readonly noticesLoss: boolean;
  readonly closed: Promise<void>;
  readonly #messages: MessageSocket;

  /** @internal The types of `ws` are not installed with this package. */
  constructor(ws: WebSocket, { peer, ...options }: WebSocketLinkOptions) {
    this.source = `websocket JSON-RPC message from exec-server websocket ${peer}`;
    this.peer = peer;
    this.noticesLoss = options.pingIntervalMs !== undefined;
    this.#messages = new MessageSocket(ws, { ...options, type: 'text', outboxBytes: limits.outboxBytes });
    this.closed = this.#messages.closed;
  }

  get closeReason(): CloseReason | undefined {
    return this.#messages.closeReason;
  }

  open(receive: Receiver): void {
    this.#messages.open(receive);
  }

  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    return this.#messages.send(message, onDelivered);
  }

  probe(): void {
    this.#messages.probe();
  }

  answers(withinMs: number): Promise<boolean> {
    return this.#messages.answers(withinMs);
  }

  close(closeReason?: CloseReason): void {
    this.#messages.close(closeReason);
  }

  destroy(): void {
    this.#messages.destroy();
  }
}
