import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import WebSocket from 'ws';
import type { Activity } from './activity.ts';
import { isObject, type JsonObject, parseJson } from './json.ts';

/** One connection to the server under test: messages go out as given and come in numbered. */
export abstract class Wire {
  readonly received: JsonObject[] = [];
  readonly #activity: Activity;
  /** How the connection ended; 1006 when there was no close frame. */
  closeCode: number | undefined;
  pings = 0;

  constructor(activity: Activity) {
    this.#activity = activity;
  }

  abstract send(data: string | Buffer): void;

  /** Ends the connection without a close handshake. */
  abstract drop(): void;

  protected take(text: string): void {
    if (this.closeCode !== undefined) return;
    const message = asMessage(text);
    this.received.push(message);
    this.arrived(message, this.received.length - 1);
    this.#activity.notify();
  }

  protected ended(code: number): void {
    this.closeCode ??= code;
    this.#activity.notify();
  }

  /** Called with every message and its number. */
  arrived: (message: JsonObject, index: number) => void = () => {};
}

export class WebSocketWire extends Wire {
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket, activity: Activity) {
    super(activity);
    this.#socket = socket;
    socket.on('message', (data) => this.take(String(data)));
    socket.on('ping', () => {
      this.pings += 1;
    });
    socket.on('close', (code) => this.ended(code));
    socket.on('error', () => {}); // a reset ends in 'close' as well
  }

  static async open(url: string, activity: Activity): Promise<WebSocketWire> {
    const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 0 });
    await once(socket, 'open');
    return new WebSocketWire(socket, activity);
  }

  send(data: string | Buffer): void {
    this.#socket.send(data);
  }

  drop(): void {
    this.#socket.terminate();
    this.ended(1006);
  }
}

export class StdioWire extends Wire {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, activity: Activity) {
    super(activity);
    this.#child = child;
    if (!child.stdout) throw new Error('the server has no standard output');
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => this.take(line));
    lines.on('close', () => this.ended(1006));
  }

  send(data: string | Buffer): void {
    this.#child.stdin?.write(data);
  }

  drop(): void {
    this.#child.stdin?.end();
  }
}

/** Text that is no message becomes one that no request asked for, which the replay reports. */
function asMessage(text: string): JsonObject {
  try {
    const message = parseJson(text);
    if (isObject(message)) return message;
  } catch {} // reported as unreadable
  return { id: null, unreadable: text };
}
