import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import { readEnvelope } from '../../src/relay/index.ts';
import type { FrameFault } from '../relay/hostile-network.ts';
import type { Carrier } from '../relay/memory-transport.ts';

/** Whose socket a frame is on, and whether it comes from there or from the rendezvous. */
export type FrameDirection = `${'from' | 'to'} ${'environment' | 'harness'}`;

const faithful: Carrier = (frame, deliver) => deliver(frame);

/** Stands between a rendezvous and those who connect to it, and does to frames what the test wants. */
export class FrameProxy implements AsyncDisposable {
  /** What happens to the frames of each direction; those of a direction without a carrier arrive as they were sent. */
  readonly data: Partial<Record<FrameDirection, Carrier>> = {};
  readonly handshake: Partial<Record<FrameDirection, Carrier>> = {};
  readonly #server = createServer((incoming, response) => this.#forward(incoming, response));
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  readonly #open = new Map<WebSocket, 'environment' | 'harness'>();
  /** The side of the rendezvous, in the order they came. */
  readonly #harnesses = new Set<WebSocket>();
  #target = '';

  static async start(): Promise<FrameProxy> {
    const proxy = new FrameProxy();
    proxy.#server.on('upgrade', (incoming, socket, head) => proxy.#upgrade(incoming, socket, head));
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  leadTo(url: string): void {
    this.#target = url;
  }

  /** Breaks the sockets of one side, or all. */
  cut(side?: 'environment' | 'harness'): void {
    for (const [socket, role] of this.#open) if (side === undefined || role === side) socket.terminate();
  }

  /** Does not read what the rendezvous sends to the harness that came first, until the result is called. */
  stallFirstHarness(): () => void {
    const [socket] = this.#harnesses;
    socket!.pause();
    return () => socket!.resume();
  }

  #forward(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url } = incoming;
    const outgoing = request(`${this.#target}${url}`, { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  }

  /** The rendezvous is asked first, so that its refusal reaches the endpoint. */
  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const inner = new WebSocket(`${this.#target.replace('http', 'ws')}${incoming.url}`, { perMessageDeflate: false });
    const outer = new Promise<WebSocket>((resolve) => {
      inner.once('open', () => this.#sockets.handleUpgrade(incoming, socket, head, resolve));
    });
    inner.on('unexpected-response', (_, { statusCode }) => {
      socket.end(`HTTP/1.1 ${statusCode} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      inner.terminate();
    });
    inner.on('error', () => socket.destroy());
    const role = incoming.url?.includes('role=environment') ? 'environment' : 'harness';
    void this.#join(inner, outer, role);
  }

  async #join(inner: WebSocket, opening: Promise<WebSocket>, role: 'environment' | 'harness'): Promise<void> {
    // Frames may come together with the answer to the upgrade, before the other socket is open.
    const carry = (to: Promise<WebSocket>, direction: FrameDirection) => (frame: RawData) => {
      void to.then((socket) => this.#carry(frame as Buffer, direction, socket));
    };
    inner.on('message', carry(opening, `to ${role}`));
    if (role === 'harness') this.#harnesses.add(inner);
    inner.on('close', () => this.#harnesses.delete(inner));
    const outer = await opening;
    outer.on('message', carry(Promise.resolve(inner), `from ${role}`));
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      this.#open.set(one, role);
      one.on('error', () => one.terminate());
      one.on('close', (code) => {
        this.#open.delete(one);
        if (code === 1006) other.terminate();
        else if (code === 1005) other.close();
        else other.close(code);
      });
    }
  }

  #carry(frame: Buffer, direction: FrameDirection, to: WebSocket): void {
    const body = readEnvelope(frame)?.body;
    const carrier = body === 'data' || body === 'handshake' ? this[body][direction] : undefined;
    (carrier ?? faithful)(frame, (bytes) => {
      if (to.readyState === to.OPEN) to.send(bytes);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    this.#server.closeAllConnections();
    this.#sockets.close();
  }
}

/** Drops and delays at random, the same for the same numbers: shares in per cent. */
export function unreliable(
  random: (below: number) => number,
  dropped: number,
  late: number,
  frames = 20_000,
): FrameFault[] {
  return Array.from({ length: frames }, () => {
    const die = random(100);
    if (die < dropped) return { type: 'drop' };
    return die < dropped + late ? { type: 'delay', by: 1 + random(8) } : { type: 'pass' };
  });
}
