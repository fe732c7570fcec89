import { type Logger, silentLogger } from '../base/index.ts';
import {
  decode,
  type EnvironmentInfo,
  ExecError,
  encode,
  limits,
  type Method,
  type MethodName,
  methods,
  neededCapabilities,
  type Params,
  type RepeatOptions,
  type Result,
} from '../protocol/index.ts';
import { ConnectionLost } from '../rpc/index.ts';
import { ClientService, type NotificationListener, type RequestListener } from './client-service.ts';
import type { Connector } from './connection.ts';
import type { ConnectionState } from './connection-state.ts';
import { ConnectionWaits } from './connection-waits.ts';
import { UnsupportedError } from './errors.ts';
import type { ChangeListener } from './files/file-watch.ts';
import { withNativePaths } from './native-spelling.ts';
import { RemoteProcess, type StartAnswer } from './remote-process.ts';
import { isRepeatable } from './repeatable.ts';
import { RequestSlots } from './request-slots.ts';
import { type CallOptions, ClientSession } from './session.ts';
import {
  type PreparedStartOptions,
  requireStartCapabilities,
  type StartOptions,
  startParams,
} from './start-options.ts';
import { type ListeningPort, PortStream, type PortTarget, WINDOW_BYTES } from './streams/port-stream.ts';

export interface ExecServerClientConnectOptions {
  /** The name that the client gives in `initialize`. */
  readonly clientName?: string;
  readonly initializeTimeoutMs?: number;
  /** How long the client tries to replace a lost connection. */
  readonly resumeTimeoutMs?: number;
  readonly resumeIntervalMs?: number;
  /** How often a silent server is asked for an answer on links that cannot ping, such as those of browsers. */
  readonly probeIntervalMs?: number;
  /** Notifications to ask for besides those that every client gets. */
  readonly events?: readonly string[];
  /** Whether to ask which accesses sandboxes denied; servers without the capability do not report them. */
  readonly sandboxDenials?: boolean;
  /** Called with every notification that is not an event of one of the client's processes or streams. */
  readonly onNotification?: NotificationListener;
  /** Answers requests of the server; without it they are answered by `methodNotFound`. */
  readonly onRequest?: RequestListener;
  readonly logger?: Logger;
  /** Aborts connecting. */
  readonly signal?: AbortSignal;
}

/** A process as the server lists it. */
export type ListedProcess = Result<'process/list'>['processes'][number];

/** A connection to an exec-server that survives interruptions, and the processes and streams that were started over it. */
export class ExecServerClient implements AsyncDisposable {
  readonly #session: ClientSession;
  readonly #processes = new Map<string, RemoteProcess>();
  readonly #streams = new Map<string, PortStream>();
  readonly #watches = new Map<string, ChangeListener>();
  readonly #waits = new ConnectionWaits();
  #slots = new RequestSlots(false);

  static async connect(connector: Connector, options: ExecServerClientConnectOptions = {}): Promise<ExecServerClient> {
    const client = new ExecServerClient(connector, options);
    await client.#session.open(options.signal);
    client.#slots = new RequestSlots(client.supports('processWait'));
    return client;
  }

  private constructor(connector: Connector, options: ExecServerClientConnectOptions) {
    const logger = options.logger ?? silentLogger;
    const living = { processes: this.#processes, streams: this.#streams, watches: this.#watches };
    const service = new ClientService(living, { ...options, logger });
    this.#session = new ClientSession(connector, service, {
      clientName: options.clientName ?? 'exec-server-client',
      events: options.events,
      sandboxDenials: options.sandboxDenials ?? false,
      initializeTimeoutMs: options.initializeTimeoutMs ?? 10_000,
      resumeTimeoutMs: options.resumeTimeoutMs ?? 25_000,
      resumeIntervalMs: options.resumeIntervalMs ?? 100,
      probeIntervalMs: options.probeIntervalMs ?? limits.clientPingIntervalMs,
      logger,
      onResumed: () => this.#catchUp(),
    });
    void this.#session.closed.then((reason) => this.#failAll(reason));
  }

  get state(): ConnectionState {
    return this.#session.state;
  }

  get sessionId(): string | undefined {
    const { state } = this;
    return state.phase === 'open' || state.phase === 'resuming' ? state.sessionId : undefined;
  }

  get environmentInfo(): EnvironmentInfo | undefined {
    return this.#session.environmentInfo;
  }

  /** Resolves with the reason when the connection is over for good. */
  get closed(): Promise<Error> {
    return this.#session.closed;
  }

  supports(capability: string): boolean {
    return this.environmentInfo?.capabilities?.[capability] === true;
  }

  /** A process of this client that has not closed yet. */
  process(processId: string): RemoteProcess | undefined {
    return this.#processes.get(processId);
  }

  listen(watchId: string, listener: ChangeListener): Disposable {
    this.#watches.set(watchId, listener);
    return { [Symbol.dispose]: () => void this.#watches.delete(watchId) };
  }

  request<M extends MethodName>(
    method: M,
    params: Params<M>,
    signal?: AbortSignal,
    options: RepeatOptions = {},
  ): Promise<Result<M>> {
    return this.#request(method, params, { signal, ...options });
  }

  async #request<M extends MethodName>(
    method: M,
    params: Params<M>,
    options: CallOptions & RepeatOptions,
  ): Promise<Result<M>> {
    const { params: schema }: Method = methods[method];
    const missing = neededCapabilities(method, params).find((capability) => !this.supports(capability));
    if (missing !== undefined) throw new UnsupportedError(`answer ${method}`, missing);
    const encoded = encode(schema, params);
    const wire = this.#session.nativePaths ? withNativePaths(params, encoded) : encoded;
    refuseOversize(method, wire);
    using _slot = await this.#slots.take(method, options.signal);
    const { repeatable = isRepeatable(method, params) } = options;
    const answer = await this.#waits.during(this.#session.call(method, wire, { ...options, repeatable }));
    return decodeResult(method, answer);
  }

  /** Starts a command. Its events may arrive before the answer, so the process is known before the request leaves. */
  async start(options: StartOptions | PreparedStartOptions, signal?: AbortSignal): Promise<RemoteProcess> {
    const params = startParams(options, this.environmentInfo);
    requireStartCapabilities(params, (capability) => this.supports(capability));
    const { processId } = params;
    if (this.#processes.has(processId)) throw new ExecError('invalidRequest', `process ${processId} already exists`);
    const forget = (): void => void this.#processes.delete(processId);
    const process = new RemoteProcess({ start: params, calls: this, waits: this.#waits, onOver: forget });
    this.#processes.set(processId, process);
    try {
      const { resumes } = this.#session;
      process.started(await this.#start(params, signal));
      if (this.#session.resumes !== resumes) await process.catchUp();
      return process;
    } catch (error) {
      forget();
      if (signal?.aborted) void this.#terminateQuietly(processId);
      throw error;
    }
  }

  /** Connects the machine that executes to one of its ports. */
  async openPort(target: PortTarget, signal?: AbortSignal): Promise<PortStream> {
    const streamId = crypto.randomUUID();
    const forget = (): void => void this.#streams.delete(streamId);
    const windowBytes = WINDOW_BYTES;
    const stream = new PortStream({ streamId, target, calls: this, waits: this.#waits, windowBytes, onOver: forget });
    this.#streams.set(streamId, stream); // its events may arrive before the answer
    const closeQuietly = (): void => void stream.close().catch(() => {}); // the error of the open is what counts
    try {
      const { resumes } = this.#session;
      const params = { streamId, ...target, windowBytes, openId: crypto.randomUUID() };
      await this.#request('net/open', params, { signal, onLate: closeQuietly });
      stream.opened();
      if (this.#session.resumes !== resumes) await stream.catchUp();
      return stream;
    } catch (error) {
      forget();
      if (signal?.aborted) closeQuietly();
      throw error;
    }
  }

  /** The processes of this session that the server remembers; with `all` those of all sessions, for which a token needs the scope `admin`. */
  async processes({ all = false }: { readonly all?: boolean } = {}, signal?: AbortSignal): Promise<ListedProcess[]> {
    if (all && !this.supports('processListAll')) throw new UnsupportedError('list all sessions', 'processListAll');
    return (await this.request('process/list', all ? { all } : {}, signal)).processes;
  }

  /** What accepts connections in the network that `openPort` connects in, with the same `processId` or without one. */
  async ports(options: { readonly processId?: string } = {}, signal?: AbortSignal): Promise<readonly ListeningPort[]> {
    return (await this.request('net/ports', options, signal)).ports;
  }

  /** Ends the connection. The server ends processes that still run when the session expires, 30 s later unless set otherwise. */
  close(): Promise<void> {
    return this.#session.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #start(params: Params<'process/start'>, signal: AbortSignal | undefined): Promise<StartAnswer> {
    const startId = this.supports('processStartId') ? { startId: crypto.randomUUID() } : {};
    const onLate = (): void => void this.#terminateQuietly(params.processId);
    try {
      return await this.#request('process/start', { ...params, ...startId }, { signal, onLate });
    } catch (error) {
      if (!(error instanceof ConnectionLost) || this.state.phase === 'closed') throw error;
      await this.#requireStarted(params.processId, error);
      return {};
    }
  }

  /** Finds out whether a process runs whose start lost its answer; if not, makes sure that it is not started later. */
  async #requireStarted(processId: string, lost: ConnectionLost): Promise<void> {
    try {
      await this.request('process/read', { processId, waitMs: 0 });
    } catch (error) {
      if (!(error instanceof ExecError)) throw error;
      await this.#terminateQuietly(processId);
      throw new ConnectionLost(`process ${processId} was not started: ${lost.message}`, { cause: error });
    }
  }

  async #terminateQuietly(processId: string): Promise<void> {
    await this.request('process/terminate', { processId }).catch(() => {}); // best effort: the error of the start is what counts
  }

  #catchUp(): void {
    for (const process of this.#processes.values()) if (process.isStarted) void process.catchUp();
    for (const stream of this.#streams.values()) if (stream.isOpened) void stream.catchUp();
  }

  #failAll(reason: Error): void {
    const living = [...this.#processes.values(), ...this.#streams.values(), ...this.#watches.values()];
    for (const listener of living) listener.fail(reason);
    this.#watches.clear();
    this.#processes.clear();
    this.#streams.clear();
  }
}

function decodeResult<M extends MethodName>(method: M, answer: unknown): Result<M> {
  try {
    return decode(methods[method].result, answer) as Result<M>;
  } catch (error) {
    throw new ExecError('internal', `the answer to ${method} is malformed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Rejects a message that the server would answer by closing the connection. */
function refuseOversize(method: string, wire: unknown): void {
  for (const value of Object.values(wire ?? {})) {
    if (typeof value === 'string' && value.length > limits.messageBytes - ENVELOPE_BYTES) {
      throw new ExecError('invalidParams', `${method} carries more than the ${limits.messageBytes} bytes of a message`);
    }
  }
}

const ENVELOPE_BYTES = 64 * 1024;
