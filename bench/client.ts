import { type Acknowledgement, RawWebSocket } from './raw-websocket.ts';
import { type ChunkObserver, type ProcessEvent, TrackedProcess } from './tracked-process.ts';

const outputMethod = Buffer.from('"process/output"');
const chunkMember = Buffer.from('"chunk":"');
const processIdMember = Buffer.from('"processId":"');
const seqMember = Buffer.from('"seq":');
const quote = 0x22;
const digitZero = 0x30;
const largeResponseBytes = 64 * 1024;

/** Marks a process as the benchmark's work, so that its use of the machine is not counted as the server's. */
export const workloadMark = 'EXEC_BENCH_CHILD=1';
const workloadEnv = { PATH: '/usr/local/bin:/usr/bin:/bin', EXEC_BENCH_CHILD: '1' };

export interface StartParams {
  argv: string[];
  processId?: string;
  cwd?: string;
  tty?: boolean;
  pipeStdin?: boolean;
  sandbox?: object;
}

interface Response {
  id: number;
  result?: unknown;
  error?: { code: number; message: string };
}

interface Notification {
  method: string;
  params?: ProcessEvent;
}

interface PendingCall {
  method: string;
  asBytes: boolean;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** The server answered with an error. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly method: string;
  readonly code: number;

  constructor(method: string, { code, message }: { code: number; message: string }) {
    super(`${method}: ${code} ${message}`);
    this.method = method;
    this.code = code;
  }
}

/** A protocol client that stays out of the way: output is located in its frame, never parsed. */
export class Client {
  outputFrames = 0;
  #socket!: RawWebSocket;
  readonly #pending = new Map<number, PendingCall>();
  readonly #processes = new Map<string, TrackedProcess>();
  #lastId = 0;
  #lastProcess = 0;

  static async open(url: string, acknowledgement: Acknowledgement = 'delayed'): Promise<Client> {
    const client = new Client();
    const handlers = {
      message: (payload: Buffer) => client.#onMessage(payload),
      closed: (error: Error) => client.#onClosed(error),
    };
    client.#socket = await RawWebSocket.open(url, handlers, acknowledgement);
    await client.call('initialize', { clientName: 'exec-bench' });
    client.#socket.send('{"method":"initialized","params":{}}');
    return client;
  }

  /** The result is what the caller says it is: workloads check the values they rely on. */
  call<T = unknown>(method: string, params: object): Promise<T> {
    return this.#request(method, false, (id) => this.#socket.send(request(id, method, params))) as Promise<T>;
  }

  /** Answers with the response as it came, for bodies too large to parse. */
  callForBytes(method: string, params: object): Promise<Buffer> {
    return this.#request(method, true, (id) => this.#socket.send(request(id, method, params))) as Promise<Buffer>;
  }

  /** Adds a member that is base64 already, a multiple of four long and the same each time, without copying it. */
  callWithBase64(method: string, params: object, member: string, base64: Buffer): Promise<unknown> {
    return this.#request(method, false, (id) => {
      const head = request(id, method, params).slice(0, -2);
      this.#socket.sendAround(`${head},"${member}":"`, base64, '"}}');
    });
  }

  start({ processId = `p${++this.#lastProcess}`, ...params }: StartParams, observe?: ChunkObserver): TrackedProcess {
    const defaults = { env: workloadEnv, cwd: 'file:///tmp', tty: false, pipeStdin: false, arg0: null };
    const respond = () => this.call('process/start', { processId, ...defaults, ...params });
    return this.track(new TrackedProcess(processId, respond, observe));
  }

  write(process: TrackedProcess, text: string, writeId: string): Promise<unknown> {
    const chunk = Buffer.from(text).toString('base64');
    return this.call('process/write', { processId: process.id, chunk, writeId });
  }

  terminate(process: TrackedProcess): Promise<unknown> {
    return this.call('process/terminate', { processId: process.id });
  }

  /** Follows a process that another request than `process/start` set going. */
  track(process: TrackedProcess): TrackedProcess {
    this.#processes.set(process.id, process);
    return process;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  [Symbol.dispose](): void {
    this.#socket[Symbol.dispose]();
  }

  #request(method: string, asBytes: boolean, send: (id: number) => void): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { method, asBytes, resolve, reject });
      send(id);
    });
  }

  #onMessage(frame: Buffer): void {
    if (frame.subarray(0, 80).includes(outputMethod)) {
      this.#onOutput(frame);
      return;
    }
    if (frame.length > largeResponseBytes && this.#settleLarge(frame)) return;
    // latin1 is several times cheaper than UTF-8, and all the benchmark looks at is ASCII.
    const message = JSON.parse(frame.toString('latin1')) as Response | Notification;
    if ('method' in message) this.#onNotification(message);
    else this.#settle(message, frame);
  }

  #onOutput(frame: Buffer): void {
    this.outputFrames++;
    const idAt = frame.indexOf(processIdMember) + processIdMember.length;
    const process = this.#processes.get(frame.toString('latin1', idAt, frame.indexOf(quote, idAt)));
    if (!process) return;
    const start = frame.indexOf(chunkMember) + chunkMember.length;
    const end = frame.indexOf(quote, start);
    let seq = 0;
    for (let at = frame.indexOf(seqMember) + seqMember.length; ; at++) {
      const digit = frame[at]! - digitZero;
      if (!(digit >= 0 && digit <= 9)) break;
      seq = seq * 10 + digit;
    }
    process.onOutput(frame, start, end, seq);
  }

  #onNotification({ method, params }: Notification): void {
    const process = params && this.#processes.get(params.processId);
    if (!process) return;
    if (method === 'process/exited') process.onExited(params);
    if (method === 'process/closed') process.onClosed(params);
  }

  /** Servers write the id first or last in a response. */
  #settleLarge(frame: Buffer): boolean {
    const edges = `${frame.toString('latin1', 0, 64)} ${frame.toString('latin1', frame.length - 64)}`;
    const id = Number(/"id":(\d+)/.exec(edges)?.[1]);
    const call = this.#pending.get(id);
    if (!call?.asBytes) return false;
    this.#pending.delete(id);
    call.resolve(Buffer.from(frame));
    return true;
  }

  #settle(response: Response, frame: Buffer): void {
    const call = this.#pending.get(response.id);
    if (!call) return;
    this.#pending.delete(response.id);
    if (response.error) call.reject(new CallError(call.method, response.error));
    else call.resolve(call.asBytes ? Buffer.from(frame) : response.result);
  }

  #onClosed(error: Error): void {
    for (const call of this.#pending.values()) call.reject(error);
    for (const process of this.#processes.values()) process.fail(error);
    this.#pending.clear();
  }
}

function request(id: number, method: string, params: object): string {
  return `{"id":${id},"method":"${method}","params":${JSON.stringify(params)}}`;
}
