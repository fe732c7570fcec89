import type { WebSocket } from 'ws';
import type { RendezvousLimits } from '../limits.ts';
import { closings, type FrameReceiver, type FrameSocket } from './frame-socket.ts';

type KeepAlive = Pick<RendezvousLimits, 'pingMs' | 'silenceMs' | 'probeMs'>;

/** A websocket, kept alive and given up when it is silent. */
export class WebSocketFrames implements FrameSocket {
  readonly #ws: WebSocket;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #limits: KeepAlive;
  #probe: NodeJS.Timeout | undefined;
  #paused = false;
  /** Frames on their way that nobody else counts. */
  #uncounted = 0;
  #heardAt = performance.now();
  #receive: (frame: Uint8Array) => void;

  constructor(ws: WebSocket, receiver: FrameReceiver, limits: KeepAlive) {
    this.#ws = ws;
    this.#limits = limits;
    this.#receive = (frame) => receiver.receive(frame);
    const heard = (): void => {
      this.#heardAt = performance.now();
    };
    ws.on('message', (data, isBinary) => {
      heard();
      if (!isBinary) this.close(closings.notBinary.code, closings.notBinary.reason);
      else this.#receive(data as Buffer);
    });
    ws.on('ping', heard);
    ws.on('pong', heard);
    ws.on('error', () => ws.terminate()); // reported by `close`, which follows
    ws.on('close', () => {
      clearInterval(this.#keepAlive);
      clearTimeout(this.#probe);
      receiver.ended();
    });
    let checks = 0;
    this.#keepAlive = setInterval(() => {
      if (this.#paused) return; // an answer may wait in the socket
      if (performance.now() - this.#heardAt >= limits.silenceMs) ws.terminate();
      else if (++checks % CHECKS_PER_PING === 0) ws.ping();
    }, limits.pingMs / CHECKS_PER_PING);
    this.#keepAlive.unref();
  }

  send(frame: Uint8Array, written?: () => void): void {
    if (this.#ws.readyState !== this.#ws.OPEN) written?.();
    else if (written) this.#ws.send(frame, BINARY, written);
    else if (this.#uncounted < MOST_UNCOUNTED) this.#sendUncounted(frame);
    else this.#ws.terminate(); // asks and asks, and takes no answer
  }

  #sendUncounted(frame: Uint8Array): void {
    this.#uncounted++;
    this.#ws.send(frame, BINARY, () => {
      this.#uncounted--;
    });
  }

  pause(): void {
    this.#paused = true;
    this.#ws.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#heardAt = performance.now();
    this.#ws.resume();
  }

  probe(): void {
    if (this.#probe || this.#paused) return;
    const askedAt = performance.now();
    this.#ws.ping();
    this.#probe = setTimeout(() => {
      this.#probe = undefined;
      if (this.#heardAt < askedAt && !this.#paused) this.#ws.terminate();
    }, this.#limits.probeMs);
    this.#probe.unref();
  }

  close(code: number, reason: string): void {
    this.#receive = () => {};
    this.#ws.close(code, reason);
    this.#ws.resume();
    setTimeout(() => this.#ws.terminate(), GOODBYE_MS).unref();
  }
}

/** A multiple of the time between two checks is the time after which a silent peer is given up. */
const CHECKS_PER_PING = 2;

/** Resets under way: an environment has far fewer streams that could need one. */
const MOST_UNCOUNTED = 1024;

const BINARY = { binary: true };

/** How long a peer may take to answer a close frame. */
const GOODBYE_MS = 1000;
