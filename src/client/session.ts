import { abortable, Changes, Deadline, deferred, type Logger } from '../base/index.ts';
import { type EnvironmentInfo, ExecError, SERVER_STOPPING, TOKEN_REVOKED } from '../protocol/index.ts';
import { ConnectionLost } from '../rpc/index.ts';
import { type ClientConnection, type Connector, type Incoming, openConnection } from './connection.ts';
import { type ConnectionEvent, type ConnectionState, nextConnectionState } from './connection-state.ts';
import { Liveness } from './liveness.ts';

export interface ClientSessionOptions {
  readonly clientName: string;
  readonly events: readonly string[] | undefined;
  readonly sandboxDenials: boolean;
  readonly initializeTimeoutMs: number;
  readonly resumeTimeoutMs: number;
  readonly resumeIntervalMs: number;
  /** How often a silent server is asked for an answer on links that cannot ping. */
  readonly probeIntervalMs: number;
  readonly logger: Logger;
  /** Called when a lost connection has been replaced, before interrupted calls are repeated. */
  readonly onResumed: () => void;
}

export interface CallOptions {
  readonly signal: AbortSignal | undefined;
  /** Called when the server has carried out the request after its caller aborted. */
  readonly onLate?: () => void;
}

/** A session on a server, resumed over a new connection whenever one is lost. */
export class ClientSession {
  readonly #connector: Connector;
  readonly #incoming: Incoming;
  readonly #options: ClientSessionOptions;
  readonly #changes = new Changes();
  readonly #closed = deferred<Error>();
  readonly #ending = new AbortController();
  #state: ConnectionState = { phase: 'opening' };
  #connection: ClientConnection | undefined;
  #liveness: Liveness | undefined;
  #resumes = 0;

  constructor(connector: Connector, incoming: Incoming, options: ClientSessionOptions) {
    this.#connector = connector;
    this.#incoming = incoming;
    this.#options = options;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** How often a lost connection has been replaced. */
  get resumes(): number {
    return this.#resumes;
  }

  get environmentInfo(): EnvironmentInfo | undefined {
    return this.#connection?.environmentInfo;
  }

  /** Whether the server accepts only native paths. */
  get nativePaths(): boolean {
    return this.#connection?.nativePaths === true;
  }

  /** Resolves with the reason when the session is over for good. */
  get closed(): Promise<Error> {
    return this.#closed.promise;
  }

  async open(signal: AbortSignal | undefined): Promise<void> {
    try {
      using stop = new Deadline(undefined, this.#ending.signal, ...(signal ? [signal] : []));
      const connection = await this.#connect(undefined, stop.signal);
      const sessionId = this.#connector.resumable === false ? undefined : connection.sessionId;
      this.#adopt(connection, { type: 'opened', sessionId });
    } catch (error) {
      this.#apply({ type: 'ended', reason: error as Error });
      throw error;
    }
  }

  /**
   * Sends a request and gives the wire form of its result. A call that may be repeated survives the loss of the
   * connection; others reject with `ConnectionLost`: the server may or may not have carried them out.
   */
  async call(method: string, params: unknown, options: CallOptions & { readonly repeatable: boolean }) {
    const { repeatable, signal, onLate } = options;
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#opened(signal);
      const result = connection.peer.call(method, params);
      try {
        return await abortable(result, signal);
      } catch (error) {
        if (signal?.aborted && onLate) result.then(onLate, () => {}); // a failed request has no effect to undo
        if (!(error instanceof ConnectionLost) || !repeatable || attempt === ATTEMPTS) throw error;
        this.#lose(connection);
      }
    }
  }

  async close(): Promise<void> {
    this.#apply({ type: 'ended', reason: new ConnectionLost('the client was closed') });
    const link = this.#connection?.peer.link;
    if (!link) return;
    link.close();
    const timer = setTimeout(() => link.destroy(), ORDERLY_CLOSE_MS);
    await link.closed;
    clearTimeout(timer);
  }

  async #opened(signal: AbortSignal | undefined): Promise<ClientConnection> {
    for (;;) {
      signal?.throwIfAborted();
      if (this.#state.phase === 'closed') throw closedError(this.#state.reason);
      if (this.#state.phase === 'open') return this.#connection!;
      await this.#changes.next({ signal });
    }
  }

  #connect(resumeSessionId: string | undefined, signal: AbortSignal): Promise<ClientConnection> {
    const { clientName, events, sandboxDenials, initializeTimeoutMs: timeoutMs } = this.#options;
    const options = { clientName, events, sandboxDenials, resumeSessionId, timeoutMs };
    return openConnection(this.#connector, options, this.#incoming, signal);
  }

  #adopt(connection: ClientConnection, event: ConnectionEvent): void {
    if (this.#state.phase === 'closed') {
      connection.peer.link.destroy();
      return;
    }
    this.#connection = connection;
    this.#state = nextConnectionState(this.#state, event);
    void connection.peer.link.closed.then(() => this.#lose(connection));
    if (!connection.peer.link.noticesLoss) this.#liveness = this.#watch(connection);
    if (event.type === 'resumed') {
      this.#resumes++;
      this.#options.onResumed();
    }
    this.#changes.notify();
  }

  #watch({ peer, environmentInfo }: ClientConnection): Liveness {
    return new Liveness({
      peer,
      intervalMs: this.#options.probeIntervalMs,
      answersConcurrently: () => environmentInfo?.capabilities?.processWait === true,
      onSilence: () => peer.link.destroy(),
    });
  }

  #lose(connection: ClientConnection): void {
    if (this.#connection !== connection || this.#state.phase !== 'open') return;
    this.#liveness?.[Symbol.dispose]();
    const { closeReason } = connection.peer.link;
    const reason = new ConnectionLost(
      closeReason?.reason ? `the server closed the connection: ${closeReason.reason}` : 'the connection was lost',
    );
    this.#options.logger.info('connection.lost', { reason: reason.message });
    this.#apply({ type: endings.has(closeReason?.reason) ? 'ended' : 'lost', reason });
    const { state } = this;
    if (state.phase === 'resuming') void this.#resume(state);
  }

  async #resume({ sessionId, lost }: ConnectionState & { phase: 'resuming' }): Promise<void> {
    const { resumeTimeoutMs, resumeIntervalMs, logger } = this.#options;
    using deadline = new Deadline(resumeTimeoutMs, this.#ending.signal);
    const stop = deadline.signal;
    for (;;) {
      try {
        this.#adopt(await this.#connect(sessionId, stop), { type: 'resumed' });
        return logger.info('session.resumed', { sessionId });
      } catch (error) {
        logger.debug('session.resume_refused', { sessionId, error });
        if (stop.aborted || isFinal(error)) {
          const why = deadline.expired ? `recovery timed out after ${resumeTimeoutMs / 1000} s` : messageOf(error);
          const reason = new ConnectionLost(`${lost.message} and the session cannot be resumed: ${why}`, {
            cause: error,
          });
          return this.#apply({ type: 'ended', reason });
        }
      }
      await new Changes().next({ timeoutMs: resumeIntervalMs, signal: stop });
    }
  }

  #apply(event: ConnectionEvent): void {
    if (this.#state.phase === 'closed') return;
    this.#state = nextConnectionState(this.#state, event);
    if (this.#state.phase === 'closed') {
      this.#liveness?.[Symbol.dispose]();
      this.#ending.abort(this.#state.reason);
      this.#closed.resolve(this.#state.reason);
    }
    this.#changes.notify();
  }
}

/** A server that says so has ended the session and its processes, so there is no session to resume. */
const endings: ReadonlySet<string | undefined> = new Set([SERVER_STOPPING, TOKEN_REVOKED]);

/**
 * Of refusals only `sessionAttached` is temporary: the server may not have noticed yet that the old connection is lost. A token that
 * is not accepted (HTTP 401) will not be later.
 */
function isFinal(error: unknown): boolean {
  const { name, status } = error as { name?: unknown; status?: unknown };
  if (name === 'ConnectionRefused' && status === UNAUTHORIZED) return true;
  return error instanceof ExecError && error.kind !== 'sessionAttached';
}

const UNAUTHORIZED = 401;

function closedError(reason: Error): Error {
  return reason instanceof ConnectionLost ? reason : new ConnectionLost(reason.message, { cause: reason });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Bounds the repetitions of a request that makes the server drop every connection. */
const ATTEMPTS = 20;
const ORDERLY_CLOSE_MS = 2000;
