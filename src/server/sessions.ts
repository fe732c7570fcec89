import { setMaxListeners } from 'node:events';
import { faultFields, type Logger } from '../base/index.ts';
import type { Host } from '../host/index.ts';
import { claimServerNumber, ownSessions, processMarks, sessionNumbers, startGuardian } from '../host/os/index.ts';
import { CommandLaunchers, type SandboxHost } from '../host/sandbox/index.ts';
import { ExecError, limits, SERVER_STOPPING } from '../protocol/index.ts';
import type { ExecServerConfig } from './config.ts';
import { type Attachment, type ClientWishes, Session } from './session.ts';
import { stopTimes } from './stop-times.ts';

export interface SessionsOptions {
  readonly host: Host;
  readonly sandboxes: SandboxHost;
  readonly config: () => ExecServerConfig;
  readonly log: Logger;
}

/** All sessions of a server, attached or waiting to be resumed. */
export class Sessions implements AsyncDisposable {
  readonly #host: Host;
  readonly #sandboxes: SandboxHost;
  readonly #config: () => ExecServerConfig;
  readonly #log: Logger;
  readonly #server = claimServerNumber();
  readonly #numbers = sessionNumbers(this.#server, () => [...this.#living].map(({ number }) => number));
  /** Those that may still start or end something: the sessions, and those that are being ended. */
  readonly #living = new Set<Session>();
  readonly #launchers = new CommandLaunchers();
  readonly #sessions = new Map<string, Session>();
  readonly #expiries = new Map<Session, NodeJS.Timeout>();
  readonly #guardian: Promise<AsyncDisposable>;
  readonly #ending = new Set<Promise<void>>();
  #finished: Promise<void> | undefined;

  constructor({ host, sandboxes, config, log }: SessionsOptions) {
    this.#host = host;
    this.#sandboxes = sandboxes;
    this.#config = config;
    this.#log = log;
    this.#guardian = startGuardian(this.#server, (error) => log.error('guardian.failed', faultFields(error)));
  }

  /** The mark of the next helper, which the guardian will know as ours. */
  readonly helperMark = processMarks(this.#server, ownSessions.helpers);

  create(client: Attachment, wishes: ClientWishes): Session {
    if (this.#finished) throw new ExecError('invalidRequest', SERVER_STOPPING);
    const session = new Session({
      host: this.#host,
      sandboxes: this.#sandboxes,
      config: this.#config,
      log: this.#log,
      launchers: this.#launchers,
      server: this.#server,
      number: this.#numbers.take(),
    });
    this.#sessions.set(session.id, session);
    this.#living.add(session);
    session.attach(client, wishes);
    return session;
  }

  /**
   * Gives a session to another connection. One that is attached is free when the old connection gives no sign of life:
   * its client has noticed a loss that the server has not. Without such a doubt the answer is there at once.
   */
  resume(id: string, client: Attachment, wishes: ClientWishes): Session | Promise<Session> {
    const session = this.#find(id);
    if (session.client) return this.#takeOver(session, session.client, client, wishes);
    return this.#attach(session, client, wishes);
  }

  async #takeOver(session: Session, holder: Attachment, client: Attachment, wishes: ClientWishes): Promise<Session> {
    const { link } = holder;
    const isAlive = link.answers === undefined || (await link.answers(limits.takeOverProbeMs));
    this.#find(session.id); // it may have ended meanwhile
    if (session.client && (isAlive || session.client !== holder)) {
      throw new ExecError('sessionAttached', `session ${session.id} is already attached to another connection`);
    }
    if (session.detach(holder)) {
      this.#log.info('session.taken_over', { sessionId: session.id });
      holder.lost();
    }
    return this.#attach(session, client, wishes);
  }

  #find(id: string): Session {
    const session = this.#sessions.get(id);
    if (!session) throw new ExecError('invalidRequest', `unknown session id ${id}`);
    return session;
  }

  #attach(session: Session, client: Attachment, wishes: ClientWishes): Session {
    clearTimeout(this.#expiries.get(session));
    this.#expiries.delete(session);
    session.attach(client, wishes);
    return session;
  }

  /** The connection of a session is gone: keep it for a while, or end it at once where its client cannot come back. */
  release(session: Session, client: Attachment, resumable: boolean): void {
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
   * Ends every process, by force when the grace is over, and waits until clients that are attached have heard of it or have
   * had the time to. From now on nothing is started.
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
        const { client } = session; // who may have come back meanwhile
        if (hadSome) await client?.link.answers?.(Math.min(LAST_EVENTS_MS, closeAt - performance.now()));
      }),
    );
    // What a tracer holds never ends, and is no reason not to close connections.
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    await Promise.race([ended, patience]);
    clearTimeout(timer);
  }

  /** Ends every session with all that is left of it. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#expiries.values()) clearTimeout(timer);
    await this.finish();
    for (const session of [...this.#sessions.values()]) this.#end(session);
    await Promise.all(this.#ending);
    await this.#launchers[Symbol.asyncDispose]();
    await (await this.#guardian)[Symbol.asyncDispose]();
  }

  #end(session: Session): void {
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
