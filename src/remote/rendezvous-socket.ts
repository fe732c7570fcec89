import type { WebSocket } from 'ws';
import { Changes, deferred } from '../base/index.ts';
import type { FrameReceiver, FrameTransport } from '../relay/index.ts';
import { KeepAlive } from './keep-alive.ts';
import { openWebSocket } from './open-websocket.ts';

export interface RendezvousSocketOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** An environment overlooks text; a harness takes it as the end. */
  readonly onText: 'ignore' | 'disconnect';
  /** The largest message; only the older plain relay has larger ones. */
  readonly maxPayload?: number;
}

/** The largest message either end of a rendezvous may send. */
const MESSAGE_BYTES = 262_144;
const OUTBOX_BYTES = 1024 * 1024;
/** Often enough to keep a window of 1 MiB open, seldom enough to cost nothing. */
const PROBE_EVERY_BYTES = 128 * 1024;

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
  #unconfirmed: { readonly probe: number; readonly onDelivered: () => void }[] = [];
  #probes = 0;
  #unprobedBytes = 0;
  #closeCode: number | undefined;

  constructor(ws: WebSocket, { onText }: RendezvousSocketOptions) {
    this.#ws = ws;
    this.#onText = onText;
    ws.pause(); // until there is somebody to take the frames
    const alive = new KeepAlive(
      () => this.#ping(), // a probe too: of several pings a peer may answer the newest alone
      () => ws.terminate(),
    );
    ws.on('pong', (data) => {
      alive.answered();
      const [, probe] = /^probe (\d+)$/.exec(data.toString('latin1')) ?? [];
      if (probe !== undefined) this.#confirmed(Number(probe));
    });
    ws.on('error', () => ws.terminate()); // reported by `close`, which follows
    ws.on('close', (code) => {
      alive[Symbol.dispose]();
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
      void pending.then(() => {
        busy = false;
        while (!busy && inbox.length > 0) take(inbox.shift()!);
        if (!busy) ws.resume();
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

  send(frame: Uint8Array, onDelivered?: () => void): void | Promise<void> {
    const ws = this.#ws;
    if (ws.readyState !== ws.OPEN) return;
    ws.send(frame, AS_BINARY, this.#written);
    if (onDelivered) this.#unconfirmed.push({ probe: this.#probes + 1, onDelivered });
    this.#unprobedBytes += frame.length;
    if (this.#unconfirmed.length > 0 && this.#unprobedBytes >= PROBE_EVERY_BYTES) this.probe();
    if (ws.bufferedAmount > OUTBOX_BYTES) return this.#roomAgain();
  }

  probe(): void {
    if (this.#ws.readyState === this.#ws.OPEN && this.#unprobedBytes > 0) this.#ping();
  }

  close(): void {
    this.#ws.close(1000);
    const patience = setTimeout(() => this.#ws.terminate(), GOODBYE_MS);
    void this.closed.then(() => clearTimeout(patience));
  }

  destroy(): void {
    this.#ws.terminate();
  }

  #ping(): void {
    this.#unprobedBytes = 0;
    this.#ws.ping(`probe ${++this.#probes}`);
  }

  #text(): void {
    if (this.#onText === 'disconnect') this.#ws.terminate();
  }

  #confirmed(probe: number): void {
    if (probe > this.#probes) return; // a peer may only confirm what was asked
    const waiting = this.#unconfirmed.findIndex((entry) => entry.probe > probe);
    const ready = this.#unconfirmed.splice(0, waiting < 0 ? this.#unconfirmed.length : waiting);
    for (const { onDelivered } of ready) onDelivered();
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
