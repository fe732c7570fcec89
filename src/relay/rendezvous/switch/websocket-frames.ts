import type { WebSocket } from 'ws';
import { type RendezvousLimits, switchLimits } from '../limits.ts';
import { closings, type FrameListener, type FrameSocket } from './frame-socket.ts';

type KeepAliveTimes = Pick<RendezvousLimits, 'pingMs' | 'silenceMs' | 'probeMs'>;

/** Frames over a WebSocket, which is pinged and ends when its peer is silent. */
export class WebSocketFrames implements FrameSocket {
  readonly #ws: WebSocket;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #limits: KeepAliveTimes;
  #probe: NodeJS.Timeout | undefined;
  #paused = false;
  /** Frames sent without a callback that are not written yet. */
  #uncounted = 0;
  #heardAt = performance.now();
  #receive: (frame: Uint8Array) => void;

  constructor(ws: WebSocket, receiver: FrameListener, limits: KeepAliveTimes) {
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
      if (this.#paused) return; // a pong may wait in the socket
      if (performance.now() - this.#heardAt >= limits.silenceMs) ws.terminate();
      else if (++checks % switchLimits.checksPerPing === 0) ws.ping();
    }, limits.pingMs / switchLimits.checksPerPing);
    this.#keepAlive.unref();
  }

  send(frame: Uint8Array, written?: () => void): void {
    if (this.#ws.readyState !== this.#ws.OPEN) written?.();
    else if (written) this.#ws.send(frame, BINARY, written);
    else if (this.#uncounted < switchLimits.uncountedFrames) this.#sendUncounted(frame);
    else this.#ws.terminate(); // the peer causes resets and reads none
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
    setTimeout(() => this.#ws.terminate(), switchLimits.closeMs).unref();
  }
}

const BINARY = { binary: true };
