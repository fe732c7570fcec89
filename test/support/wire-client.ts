import { connect as connectSocket } from 'node:net';
import { WebSocket } from 'ws';
import { type Notice, TrackedProcess } from './tracked-process.ts';

/** What carries the messages: a WebSocket, or the pipes of a server that was started for us. */
export interface Wire {
  send(message: string | Buffer): void;
  cut(): void;
  /** Resolves with the close code, or the exit code of a server on pipes. */
  readonly closed: Promise<number>;
}

/** The error a server answered with. */
export class WireFailure extends Error {
  readonly code: number;

  constructor(error: { code: number; message: string }) {
    super(error.message);
    this.code = error.code;
  }
}

export interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { code: number; message: string };
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export type StartOptions = { readonly argv: readonly string[] } & Readonly<Record<string, unknown>>;

/** One end of the wire, written for tests only: nothing here is shared with the client of the package. */
export class WireClient implements AsyncDisposable {
  /** Everything that was no answer to a call: notifications, and errors with id -1. */
  readonly stray: (Notice | Answer)[] = [];
  readonly closed: Promise<number>;
  readonly #wire: Wire;
  readonly #pending = new Map<number, Pending>();
  readonly #processes = new Map<string, TrackedProcess>();
  #strayWaiters: (() => void)[] = [];
  #nextId = 1;
  #over = false;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.closed = wire.closed;
    void wire.closed.then(() => {
      this.#over = true;
      for (const call of this.#pending.values()) call.reject(new Error('the connection ended before the answer'));
      for (const wake of this.#strayWaiters.splice(0)) wake();
    });
  }

  /** Sends a request; rejects with a `WireFailure` when the server refuses it. */
  call<R = Record<string, unknown>>(method: string, params: unknown = {}): Promise<R> {
    const id = this.#nextId++;
    if (this.#over) return Promise.reject(new Error('the connection is over'));
    const answer = new Promise<unknown>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    answer.catch(() => {}); // a test may end without asking for every answer
    this.#wire.send(JSON.stringify({ id, method, params }));
    return answer as Promise<R>;
  }

  notify(method: string, params: unknown = {}): void {
    this.#wire.send(JSON.stringify({ method, params }));
  }

  raw(message: string | Buffer): void {
    this.#wire.send(message);
  }

  /** Handshake; returns the id of the session. */
  async initialize(params: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { sessionId } = await this.call<{ sessionId: string }>('initialize', {
      clientName: 'system test',
      ...params,
    });
    this.notify('initialized');
    return sessionId;
  }

  /** Starts a process behind pipes unless the options say otherwise. */
  async start(options: StartOptions): Promise<TrackedProcess> {
    const { tracked, started } = this.begin(options);
    await started;
    return tracked;
  }

  /** Sends the start without waiting for its answer. */
  begin(options: StartOptions): { tracked: TrackedProcess; started: Promise<Record<string, unknown>> } {
    const processId = (options.processId as string | undefined) ?? `p${this.#nextId}`;
    const tracked = this.track(processId);
    const usual = { processId, cwd: 'file:///', env: { PATH: '/usr/bin:/bin' }, tty: false };
    return { tracked, started: this.call('process/start', { ...usual, ...options }) };
  }

  /** Collects the events of a process from here on. */
  track(processId: string): TrackedProcess {
    const tracked = new TrackedProcess(processId);
    this.#processes.set(processId, tracked);
    return tracked;
  }

  /** The first stray message that satisfies the condition, whether it is here already or yet to come. */
  async strayUntil(condition: (message: Notice | Answer) => boolean): Promise<Notice | Answer> {
    for (;;) {
      const found = this.stray.find(condition);
      if (found) return found;
      if (this.#over) throw new Error('the connection ended before the message came');
      await new Promise<void>((resolve) => this.#strayWaiters.push(resolve));
    }
  }

  /** Breaks the connection without a goodbye. */
  cut(): void {
    this.#wire.cut();
  }

  /** Called by the transport for every message. */
  receive(text: string): void {
    const message = JSON.parse(text) as Notice & Answer;
    const call = message.id === undefined ? undefined : this.#pending.get(message.id);
    if (call) {
      this.#pending.delete(message.id!);
      if (message.error) call.reject(new WireFailure(message.error));
      else call.resolve(message.result);
      return;
    }
    const process = message.params && this.#processes.get(message.params.processId);
    if (process?.receive(message)) return;
    this.stray.push(message);
    for (const wake of this.#strayWaiters.splice(0)) wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await this.closed;
  }
}

export interface ConnectOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The certificate authority to trust, for a `wss:` URL. */
  readonly ca?: string;
  /** Milliseconds the consumer takes for each message. */
  readonly slowness?: number;
  /** Members of `initialize` besides the usual ones. */
  readonly initializeParams?: Readonly<Record<string, unknown>>;
}

/** A client whose reading can be stopped. */
export class WebSocketClient extends WireClient {
  readonly socket: WebSocket;

  constructor(socket: WebSocket, slowness = 0) {
    super({
      send: (message) => socket.send(message),
      cut: () => socket.terminate(),
      closed: new Promise((resolve) => socket.once('close', resolve)),
    });
    this.socket = socket;
    socket.on('error', () => {}); // `close` follows
    socket.on('message', (data) => {
      this.receive(String(data));
      if (slowness > 0) {
        socket.pause();
        setTimeout(() => socket.resume(), slowness);
      }
    });
  }
}

/** Connects without the handshake. */
export async function connectBare(url: string, options: ConnectOptions = {}): Promise<WebSocketClient> {
  const [, path] = /^unix:(.+)$/.exec(url) ?? [];
  const socket = new WebSocket(path === undefined ? url : 'ws://localhost/', {
    ...(path !== undefined && { createConnection: () => connectSocket(path) }),
    perMessageDeflate: false,
    maxPayload: 1024 * 1024 * 1024,
    ...(options.headers && { headers: options.headers }),
    ...(options.ca !== undefined && { ca: options.ca }),
  });
  const client = new WebSocketClient(socket, options.slowness);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return client;
}

/** Connects and shakes hands. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<WebSocketClient> {
  const client = await connectBare(url, options);
  await client.initialize(options.initializeParams);
  return client;
}

/** Connects and resumes a session, trying again while the server has not noticed the end of the last connection. */
export async function resume(url: string, sessionId: string, options: ConnectOptions = {}): Promise<WebSocketClient> {
  const client = await connectBare(url, options);
  for (;;) {
    try {
      await client.initialize({ resumeSessionId: sessionId, ...options.initializeParams });
      return client;
    } catch (error) {
      if ((error as WireFailure).code !== -32010) throw error;
    }
  }
}

export const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');
export const text = (encoded: unknown): string => Buffer.from(encoded as string, 'base64').toString();
