import { setMaxListeners } from 'node:events';
import type { Grant, Login, LoginEnd } from '../access/index.ts';
import { faultFields, type Logger } from '../base/index.ts';
import { FileService } from '../host/files/index.ts';
import type { Host } from '../host/index.ts';
import { HttpClient, isUnsendable, type ServiceCookies } from '../host/network/index.ts';
import { decodeBase64Part, release } from '../host/os/index.ts';
import type { HelperLaunchers, SandboxHost } from '../host/sandbox/index.ts';
import {
  decodeParams,
  type EnvironmentInfo,
  ExecError,
  encode,
  isMethodName,
  type MethodName,
  methods,
  notifications,
  type Params,
  POLICY_VIOLATION,
} from '../protocol/index.ts';
import {
  DeferredResult,
  EncodedResult,
  type Ending,
  JsonText,
  type Lane,
  type Link,
  Peer,
  type Service,
  type Violation,
} from '../rpc/index.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { ExecServerConfig } from './config.ts';
import { discoveryHandlers } from './discovery-handlers.ts';
import { environmentHandlers } from './environment-handlers.ts';
import { fileHandlers } from './file-handlers.ts';
import type { Handlers, RequestContext } from './handlers.ts';
import { httpHandlers } from './http-handlers.ts';
import type { ServerCounters } from './ops/server-counters.ts';
import { portHandlers } from './port-handlers.ts';
import { processHandlers } from './process-handlers.ts';
import { endReasons, presentGrant, requireMethodScope } from './required-scope.ts';
import type { SandboxWarmup } from './sandbox-warmup.ts';
import type { Attachment, ClientWishes, ServerSession } from './session.ts';
import type { Sessions } from './sessions.ts';

/**
 * new ──initialize──▶ initialized ──initialized──▶ ready
 *  └──initialize of a session that has a connection──▶ resuming ──▶ initialized, or new when it is refused
 *
 * `initialized` and `ready` become `superseded` when another connection takes the session over.
 */
type Handshake =
  | { readonly phase: 'new' }
  | { readonly phase: 'resuming'; readonly done: Promise<unknown> }
  | { readonly phase: 'superseded' }
  | { readonly phase: 'initialized'; readonly session: ServerSession }
  | { readonly phase: 'ready'; readonly session: ServerSession };

export interface OwnInfo {
  readonly value: EnvironmentInfo;
  /** As it goes over the wire. */
  readonly json: string;
}

export interface ConnectionOptions {
  readonly login: Login;
  readonly host: Host;
  readonly sandboxes: SandboxHost;
  readonly config: ExecServerConfig;
  readonly sessions: Sessions;
  readonly info: OwnInfo;
  readonly log: Logger;
  readonly audit: AuditLog;
  readonly counters: ServerCounters;
  readonly launchers: HelperLaunchers;
  readonly warmup: SandboxWarmup;
  readonly serviceCookies: ServiceCookies;
  /** Whether a client that lost this connection could come back on another. */
  readonly resumable: boolean;
}

const controlMethods = new Set([
  'environment/info',
  'environment/status',
  'process/signal',
  'process/terminate',
  'net/ack',
  'net/close',
  'fs/close',
  'fs/searchCancel',
]);

/** Methods that wait for a process, for another program or for slow disks. */
const parkingMethods = new Set(['process/wait', 'process/write', 'net/open', 'net/write', 'http/request', 'fs/search']);

/** Methods that wait only when they have `waitMs`. */
const readingMethods = new Set(['process/read', 'net/read']);

/** Methods whose answers may be large. `fs/*`, `process/read` and `net/read` bound theirs themselves. */
const largeAnswerMethods = new Set([
  'process/list',
  'process/snapshot',
  'environmentConfig/read',
  'capabilityRoots/discoverV1',
  'capabilities/discoverV2',
]);

const handlers: Handlers = {
  ...environmentHandlers,
  ...processHandlers,
  ...fileHandlers,
  ...discoveryHandlers,
  ...httpHandlers,
  ...portHandlers,
};

/** One client: takes it through the handshake and passes its requests to the handlers. */
export class ServerConnection implements Service {
  readonly #options: ConnectionOptions;
  /** Made for the first request that needs them: most clients make no HTTP requests, and many only run processes. */
  #signal: AbortSignal | undefined;
  #files: FileService | undefined;
  #http: HttpClient | undefined;
  readonly #peer: Peer;
  readonly #link: Link;
  readonly #attachment: Attachment;
  #handshake: Handshake = { phase: 'new' };
  sendsErrorDetails = false;

  constructor(link: Link, options: ConnectionOptions) {
    this.#options = options;
    this.#link = link;
    this.#attachment = {
      link,
      call: (method, params) => this.#peer.call(method, params),
      supersede: () => {
        this.#handshake = { phase: 'superseded' };
        link.destroy();
      },
    };
    void link.closed
      .then(() => this.#release())
      .then(() => Promise.all([this.#files?.[Symbol.asyncDispose](), this.#http?.[Symbol.asyncDispose]()]))
      .catch((error) => this.fault(error));
    this.#peer = new Peer(link, this, {
      concurrentRequests: options.config.concurrentRequests,
      decodePayload: decodeAndRelease,
    });
    void options.login.ended.then((end) => this.#expel(end));
  }

  lane(method: string, params: unknown): Lane {
    if (controlMethods.has(method)) return 'control';
    if (readingMethods.has(method)) return (params as { waitMs?: unknown } | null)?.waitMs ? 'parked' : 'ordinary';
    return parkingMethods.has(method) ? 'parked' : 'ordinary';
  }

  hasLargeAnswer(method: string): boolean {
    return largeAnswerMethods.has(method);
  }

  isKeptInMemory(method: string): boolean {
    return method === 'fs/writeFile' || method === 'fs/writeBlock';
  }

  request(method: string, wireParams: unknown, connection: Ending): unknown {
    try {
      const result = this.#dispatch(method, wireParams, connection);
      return result instanceof Promise ? result.catch((error) => this.#failed(method, error)) : result;
    } catch (error) {
      return this.#failed(method, error);
    }
  }

  #dispatch(method: string, wireParams: unknown, connection: Ending): unknown {
    if (this.#handshake.phase === 'resuming') {
      return this.#handshake.done.then(() => this.#dispatch(method, wireParams, connection));
    }
    if (!isMethodName(method)) throw notImplemented(method);
    const grant = presentGrant(this.#options.login);
    requireMethodScope(grant, method);
    const params = decodeParams(method, wireParams ?? null);
    if (method === 'initialize') return this.#initialize(params as Params<'initialize'>, grant, connection);
    const session = this.#session(methods[method].family);
    const handler = handlers[method] as ((params: unknown, context: RequestContext) => unknown) | undefined;
    if (!handler) throw notImplemented(method);
    this.#options.warmup.begin();
    const result = handler(params, this.#context(session, grant, connection));
    return result instanceof Promise
      ? result.then((settled) => wireResult(method, settled))
      : wireResult(method, result);
  }

  #context(session: ServerSession, grant: Grant, connection: Ending): RequestContext {
    const { host, info, log, audit, counters, sessions } = this.#options;
    const files = (): FileService => (this.#files ??= this.#openFiles(session));
    const http = (): HttpClient => (this.#http ??= this.#openHttp());
    const signal = (): AbortSignal => (this.#signal ??= withManyListeners(connection.ended));
    return {
      session,
      sessions,
      grant,
      host,
      info: info.value,
      log,
      get audit() {
        return audit.with(session.user);
      },
      counters,
      get signal() {
        return signal();
      },
      get files() {
        return files();
      },
      get http() {
        return http();
      },
    };
  }

  #openFiles(session: ServerSession): FileService {
    const { sandboxes, launchers } = this.#options;
    const access = { sandboxes, launchers };
    const onMissingChanged = (watchId: number): void => void this.#peer.notify('fs/missingChanged', { watchId });
    return new FileService({ ...access, onMissingChanged, session: session.files(access), sendsAnswers: true });
  }

  #openHttp(): HttpClient {
    const { host, serviceCookies } = this.#options;
    const peer = this.#peer;
    return new HttpClient({
      onDelta: (delta) => peer.notify('http/request/bodyDelta', encode(notifications['http/request/bodyDelta'], delta)),
      outgoing: host.outgoing,
      isUnsendable,
      cookies: serviceCookies,
      room: () => peer.room,
    });
  }

  notification(method: string): void | Promise<void> {
    if (this.#handshake.phase === 'resuming') return this.#handshake.done.then(() => this.notification(method));
    if (method !== 'initialized') throw new ExecError('invalidRequest', `unexpected notification ${method}`);
    if (this.#handshake.phase === 'new') throw new ExecError('invalidRequest', 'initialized before initialize');
    if (this.#handshake.phase === 'superseded') throw supersededError();
    const { session } = this.#handshake;
    this.#handshake = { phase: 'ready', session };
    session.initialized();
  }

  violation(kind: Violation, error: Error): void | Promise<void> {
    this.#options.log.debug('message.refused', { kind, reason: error.message });
    if (kind === 'answer') return;
    return this.#link.send(`{"error":${JSON.stringify(ExecError.from(error).toWire())},"id":-1}`);
  }

  fault(error: unknown): void {
    this.#options.log.error('connection.failed', faultFields(error));
  }

  #initialize(
    { clientName, resumeSessionId, ...asked }: Params<'initialize'>,
    grant: Grant,
    connection: Ending,
  ): unknown {
    if (this.#handshake.phase !== 'new') {
      throw new ExecError('invalidRequest', 'initialize may only be sent once per connection');
    }
    const { sessions } = this.#options;
    const wishes = wishesOf(asked);
    this.sendsErrorDetails = asked.capabilities?.errorDetails === true;
    const attached = (session: ServerSession) => this.#attached(session, clientName, resumeSessionId != null);
    if (resumeSessionId == null) return attached(sessions.create(this.#attachment, wishes, grant));
    const session = sessions.resume(resumeSessionId, this.#attachment, wishes, grant);
    if (!(session instanceof Promise)) return attached(session);
    const answer = session.then((resumed) => {
      const result = attached(resumed);
      // This client is gone as well, or is being turned out.
      if (connection.ended.aborted || this.#options.login.state.phase !== 'granted') this.#release();
      return result;
    });
    const done = answer.catch(() => {
      this.#handshake = { phase: 'new' }; // the reason is in the answer
    });
    this.#handshake = { phase: 'resuming', done };
    return answer;
  }

  /** Completes `initialize` with the session; gives its answer in wire form. */
  #attached(session: ServerSession, clientName: string, resumed: boolean): unknown {
    const { info, log, audit } = this.#options;
    this.#handshake = { phase: 'initialized', session };
    log.debug('session.attached', { sessionId: session.id, tokenName: session.tokenName, clientName, resumed });
    audit.with(session.user).record({ event: 'session.attached', clientName, resumed });
    return new JsonText(`{"sessionId":"${session.id}","environmentInfo":${info.json}}`);
  }

  #session(family: string): ServerSession {
    const { phase } = this.#handshake;
    if (phase === 'ready') return this.#handshake.session;
    if (phase === 'superseded') throw supersededError();
    const missing = phase === 'new' ? 'call initialize' : 'send initialized';
    throw new ExecError('invalidRequest', `client must ${missing} before using ${family} methods`);
  }

  /** The client gets the message; the log gets the cause and the stack as well. */
  #failed(method: string, thrown: unknown): never {
    const error = ExecError.from(thrown);
    if (error !== thrown) this.#options.log.error('request.failed', { method, ...faultFields(thrown) });
    if (error.kind === 'forbidden') this.#options.counters.denials.scope++;
    throw error;
  }

  /** Ends the connection of a client whose token is not good any more; what it still sends is refused. */
  #expel(end: LoginEnd): void {
    const { log, audit, login } = this.#options;
    const reason = endReasons[end];
    const { peer } = this.#link;
    log.info('login.ended', { peer, tokenName: login.tokenName, reason });
    audit.with({ peer, tokenName: login.tokenName }).record({ event: 'login.ended', reason });
    this.#release();
    this.#link.close({ code: POLICY_VIOLATION, reason });
    setTimeout(() => this.#link.destroy(), EXPEL_MS).unref();
  }

  #release(): void {
    if (this.#handshake.phase !== 'initialized' && this.#handshake.phase !== 'ready') return;
    this.#options.sessions.release(this.#handshake.session, this.#attachment, this.#options.resumable);
    this.#handshake = { phase: 'new' };
  }
}

/** How long an expelled client may take to answer the close frame. */
const EXPEL_MS = 250;

function wishesOf({ events, capabilities }: Pick<Params<'initialize'>, 'events' | 'capabilities'>): ClientWishes {
  return {
    events: new Set(events ?? []),
    sandboxDenials: capabilities?.sandboxDenials === true,
    endings: capabilities?.processTimeout === true,
  };
}

/** Every parked request listens. */
function withManyListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

/** Decodes the payload of a large message and releases the message, so that the next one can use its memory. */
function decodeAndRelease(message: Uint8Array, start: number, end: number): Uint8Array {
  const payload = decodeBase64Part(message, start, end);
  release(message);
  return payload;
}

function notImplemented(method: string): ExecError {
  return new ExecError('methodNotFound', `exec-server stub does not implement \`${method}\` yet`);
}

function supersededError(): ExecError {
  return new ExecError('invalidRequest', 'session has been resumed by another connection');
}

function wireResult(method: MethodName, result: unknown): unknown {
  return result instanceof EncodedResult || result instanceof DeferredResult
    ? result
    : encode(methods[method].result, result as never);
}
