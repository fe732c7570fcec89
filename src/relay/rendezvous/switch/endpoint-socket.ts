import { type Closing, closings, type FrameSocket } from './frame-socket.ts';
import { nextSocketState, type SocketEvent, type SocketState } from './socket-state.ts';

interface EarlyFrame {
  readonly frame: Uint8Array;
  readonly written: (() => void) | undefined;
}

/** The WebSocket of an environment or a harness, usable before it is open. */
export class EndpointSocket {
  #state: SocketState = { phase: 'opening' };
  /** Frames sent before the socket is open. Their senders wait for `written`, so a window of each stream at most. */
  #early: EarlyFrame[] = [];

  open(socket: FrameSocket): void {
    if (this.#state.phase === 'closed') closeWith(socket, this.#state.closing);
    this.#apply({ type: 'opened', socket });
    for (const { frame, written } of this.#early.splice(0)) socket.send(frame, written);
  }

  send(frame: Uint8Array, written?: () => void): void {
    if (this.#state.phase === 'opening') this.#early.push({ frame, written });
    else this.#socket?.send(frame, written);
  }

  get isReading(): boolean {
    return this.#state.phase === 'reading';
  }

  pause(): void {
    if (this.#state.phase === 'reading') this.#state.socket.pause();
    this.#apply({ type: 'full' });
  }

  resume(): void {
    if (this.#state.phase === 'paused') this.#state.socket.resume();
    this.#apply({ type: 'room' });
  }

  probe(): void {
    this.#socket?.probe();
  }

  /** Closes the socket, or refuses it when it opens. False if it was closed before. */
  close(closing: Closing): boolean {
    if (this.#socket) closeWith(this.#socket, closing);
    return this.#finish(closing);
  }

  /** The peer ended the socket, or it never opened. False if it was closed before. */
  ended(): boolean {
    return this.#finish(closings.goingAway);
  }

  #finish(closing: Closing): boolean {
    const wasOpen = this.#state.phase !== 'closed';
    this.#apply({ type: 'closed', closing });
    this.#early = [];
    return wasOpen;
  }

  get #socket(): FrameSocket | undefined {
    return 'socket' in this.#state ? this.#state.socket : undefined;
  }

  #apply(event: SocketEvent): void {
    this.#state = nextSocketState(this.#state, event);
  }
}

function closeWith(socket: FrameSocket, { code, reason }: Closing): void {
  socket.close(code, reason);
}
