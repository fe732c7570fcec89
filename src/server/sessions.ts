import { setMaxListeners } from 'node:events';
import { type Grant, unnamedGrant } from '../access/index.ts';
import { faultFields, type Logger } from '../base/index.ts';
import type { Host } from '../host/index.ts';
import { claimServerNumber, ownSessions, processMarks, sessionNumbers, startGuardian } from '../host/os/index.ts';
import { CommandLaunchers, type SandboxHost } from '../host/sandbox/index.ts';
import { ExecError, limits, SERVER_STOPPING } from '../protocol/index.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { ExecServerConfig } from './config.ts';
import type { ServerCounters } from './ops/server-counters.ts';
import type { ServerGauges } from './ops/server-metrics.ts';
import { type Attachment, type ClientWishes, ServerSession } from './session.ts';
import { stopTimes } from './stop-times.ts';
import { requireSessionRoom } from './token-room.ts';

export interface SessionsOptions {
  readonly host: Host;
  readonly sandboxes: SandboxHost;
  readonly config: () => ExecServerConfig;
  readonly log: Logger;
  readonly audit: AuditLog;
  readonly counters: ServerCounters;
}

/** All sessions of a server, attached or waiting to be resumed. */
export class Sessions implements AsyncDisposable {
  readonly #host: Host;
  readonly #sandboxes: SandboxHost;
  readonly #config: () => ExecServerConfig;
  readonly #log: Logger;
  readonly #audit: AuditLog;
  readonly #counters: ServerCounters;
  readonly #server = claimServerNumber();
  readonly #numbers = sessionNumbers(this.#server, () => [...this.#living].map(({ number }) => number));
  /** Sessions whose marks are in use: open ones, and those that are being ended. */
  readonly #living = new Set<ServerSession>();
  readonly #launchers = new CommandLaunchers();
  readonly #sessions = new Map<string, ServerSession>();
  readonly #expiries = new Map<ServerSession, NodeJS.Timeout>();
  readonly #guardian: Promise<AsyncDisposable>;
  readonly #ending = new Set<Promise<void>>();
  #finished: Promise<void> | undefined;

  constructor({ host, sandboxes, config, log, audit, counters }: SessionsOptions) {
    this.#host = host;
    this.#sandboxes = sandboxes;
    this.#config = config;
    this.#log = log;
    this.#audit = audit;
    this.#counters = counters;
    this.#guardian = startGuardian(this.#server, (error) => log.error('guardian.failed', faultFields(error)));
  }

  /** The mark of the next helper, by which the guardian knows it as one of this server. */
  readonly helperMark = processMarks(this.#server, ownSessions.helpers);

  /** What is looked up for the metrics. */
  get gauges(): Pick<ServerGauges, 'attachedSessions' | 'detachedSessions' | 'runningProcesses'> {
    const sessions = [...this.#sessions.values()];
    const attachedSessions = sessions.filter(({ client }) => client !== undefined).length;
    const runningProcesses = sessions.reduce((sum, { processes }) => sum + processes.openCount, 0);
    return { attachedSessions, detachedSessions: sessions.length - attachedSessions, runningProcesses };
  }

  [Symbol.iterator](): Iterator<ServerSession> {
    return this.#sessions.values();
  }

  create(client: Attachment, wishes: ClientWishes, grant: Grant = unnamedGrant): ServerSession {
    if (this.#finished) throw new ExecError('invalidRequest', SERVER_STOPPING);
    const { tokenName } = grant;
    const ofToken = (): ServerSession[] => [...this.#sessions.values()].filter((each) => each.tokenName === tokenName);
    requireSessionRoom(grant, () => ofToken().length);
    const session = new ServerSession({
      host: this.#host,
      sandboxes: this.#sandboxes,
      config: this.#config,
      log: this.#log,
      audit: this.#audit,
      counters: this.#counters,
      launchers: this.#launchers,
      server: this.#server,
      number: this.#numbers.take(),
      tokenName,
      ofToken,
    });
    this.#sessions.set(session.id, session);
    this.#living.add(session);
    session.attach(client, wishes);
    return session;
  }

  /**
   * Attaches a session to another connection. If the session still has a connection, that one is asked for an answer first: a client
   * may notice the loss of its connection before the server does. A detached session is given at once.
   * To a token of another name the session does not exist.
   */
  resume(
    id: string,
    client: Attachment,
    wishes: ClientWishes,
    { tokenName }: Pick<Grant, 'tokenName'> = unnamedGrant,
  ): ServerSession | Promise<ServerSession> {
    const session = this.#find(id, tokenName);
    if (session.client) return this.#takeOver(session, session.client, client, wishes);
    return this.#attach(session, client, wishes);
  }

  async #takeOver(
    session: ServerSession,
    holder: Attachment,
    client: Attachment,
    wishes: ClientWishes,
  ): Promise<ServerSession> {
    const { link } = holder;
    const isAlive = link.answers === undefined || (await link.answers(limits.takeOverProbeMs));
    this.#find(session.id, session.tokenName); // it may have ended meanwhile
    if (session.client && (isAlive || session.client !== holder)) {
      throw new ExecError('sessionAttached', `session ${session.id} is already attached to another connection`);
    }
    if (session.detach(holder)) {
      this.#log.info('session.taken_over', { sessionId: session.id });
      holder.supersede();
    }
    return this.#attach(session, client, wishes);
  }

  #find(id: string, tokenName: string | undefined): ServerSession {
    const session = this.#sessions.get(id);
    if (session && session.tokenName !== tokenName) {
      this.#log.info('session.not_given', { sessionId: id, ownedBy: session.tokenName, tokenName });
    }
    if (session?.tokenName !== tokenName || !session) throw new ExecError('invalidRequest', `unknown session id ${id}`);
    return session;
  }

  #attach(session: ServerSession, client: Attachment, wishes: ClientWishes): ServerSession {
    clearTimeout(this.#expiries.get(session));
    this.#expiries.delete(session);
    session.attach(client, wishes);
    return session;
  }

  /** Ends the sessions that belong to tokens of these names, attached or not. */
  endOf(tokenNames: ReadonlySet<string>): void {
    for (const session of [...this.#sessions.values()]) {
      if (session.tokenName !== undefined && tokenNames.has(session.tokenName)) this.#end(session);
    }
  }

  /** Keeps a session whose connection is lost until it expires, or ends it at once if its client cannot resume it. */
  release(session: ServerSession, client: Attachment, resumable: boolean): void {
    const ttlMs = resumable ? this.#config().detachedSessionTtlMs : 0;
    if (!session.detach(client, ttlMs)) return;
    if (!this.#sessions.has(session.id)) return; // ended with the server
    if (ttlMs === 0) {
      this.#end(session);
      return;
    }
    this.#log.debug('session.detached', { sessionId: session.id, ttlMs });
    this.#expiries.set(
      session,
      setTimeout(() => this.#end(session), ttlMs),
    );
  }

  /**
   * Ends every process, by SIGKILL when the grace period is over, and waits until attached clients have confirmed the last events or
   * the time for that is over. Nothing is started any more.
   */
  finish(): Promise<void> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  async #finish(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    const { killMs, closeMs } = stopTimes(this.#config().shutdownGracePeriodMs);
    const kill = AbortSignal.timeout(killMs);
    setMaxListeners(0, kill); // every process listens
    const closeAt = performance.now() + closeMs;
    const ended = Promise.all(
      sessions.map(async (session) => {
        const hadSome = await session.processes.endGracefully(kill);
        const { client } = session; // may have attached meanwhile
        if (hadSome) await client?.link.answers?.(Math.min(LAST_EVENTS_MS, closeAt - performance.now()));
      }),
    );
    // A process that a tracer holds never ends; connections are closed all the same.
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    await Promise.race([ended, timeout]);
    clearTimeout(timer);
  }

  /** Ends every session with all processes of its family. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#expiries.values()) clearTimeout(timer);
    await this.finish();
    for (const session of [...this.#sessions.values()]) this.#end(session);
    await Promise.all(this.#ending);
    await this.#launchers[Symbol.asyncDispose]();
    await (await this.#guardian)[Symbol.asyncDispose]();
  }

  #end(session: ServerSession): void {
    clearTimeout(this.#expiries.get(session));
    this.#expiries.delete(session);
    this.#sessions.delete(session.id);
    const ended = session[Symbol.asyncDispose]()
      .then(() => {
        this.#living.delete(session);
        this.#log.debug('session.ended', { sessionId: session.id });
      })
      .catch((error) => this.#log.error('session.not_ended', { sessionId: session.id, ...faultFields(error) }))
      .finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/** How long a client may take to confirm that it has the last events before its connection is closed. */
const LAST_EVENTS_MS = 500;
