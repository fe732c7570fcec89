import { randomUUID } from 'node:crypto';
import { abortable, type Logger } from '../base/index.ts';
import { type FileAccessOptions, SessionFiles } from '../host/files/index.ts';
import type { Host } from '../host/index.ts';
import { familyMark, killFamily, processMarks, SESSION_MASK } from '../host/os/index.ts';
import { type SessionNetworks, StreamTable } from '../host/ports/index.ts';
import { type ProcessAudience, ProcessTable } from '../host/process/index.ts';
import { type CommandLaunchers, type SandboxHost, SessionNetwork } from '../host/sandbox/index.ts';
import { InputBudget } from '../host/stream/index.ts';
import { limits } from '../protocol/index.ts';
import { ConnectionLost, type Link } from '../rpc/index.ts';
import type { AuditFacts, AuditLog } from './audit/audit-log.ts';
import type { ExecServerConfig } from './config.ts';
import type { ServerCounters } from './ops/server-counters.ts';
import { ProcessRecords } from './process-records.ts';

/** How a session reaches its client. */
export interface Attachment {
  readonly link: Link;
  /** Sends a request; rejects when the connection ends before the answer. */
  call(method: string, params: unknown): Promise<unknown>;
  /** Called when another connection has taken the session over. */
  supersede(): void;
}

/** The events and features that a client asked for in `initialize`. */
export interface ClientWishes {
  readonly events: ReadonlySet<string>;
  readonly sandboxDenials: boolean;
  /** More about the end of every process than the reference tells. */
  readonly endings: boolean;
}

export interface SessionOptions {
  readonly host: Host;
  readonly sandboxes: SandboxHost;
  readonly config: () => ExecServerConfig;
  readonly log: Logger;
  readonly audit: AuditLog;
  readonly counters: ServerCounters;
  readonly launchers: CommandLaunchers;
  /** The numbers of the server and of the session in the marks of its processes. */
  readonly server: number;
  readonly number: number;
  /** The name of the token that the client presented, if it has one. */
  readonly tokenName?: string | undefined;
  /** All sessions of that token, this one included. */
  readonly ofToken?: () => readonly ServerSession[];
}

/**
 * The processes of one client, its connections to ports, and what it watches or appends to. A session outlives its connection and
 * waits to be resumed while none is attached.
 */
export class ServerSession implements ProcessAudience, AsyncDisposable {
  readonly id = randomUUID();
  readonly processes: ProcessTable;
  /** The network that its commands with `network: loopback` share. */
  readonly network: SessionNetwork;
  #streams: StreamTable | undefined;
  /** The number of this session in the marks of its processes. */
  readonly number: number;
  /** The name of the token that the session belongs to: connections with a token of another name cannot resume it. */
  readonly tokenName: string | undefined;
  readonly #config: () => ExecServerConfig;
  readonly #log: Logger;
  readonly #inputBudget = new InputBudget();
  readonly #counters: ServerCounters;
  readonly #familyMark: bigint;
  #files: SessionFiles | undefined;
  readonly #ofToken: () => readonly ServerSession[];
  #client: Attachment | undefined;
  #wishes: ClientWishes = { events: new Set(), sandboxDenials: false, endings: false };
  #unanswered = 0;
  #unsent = 0;

  constructor({ host, sandboxes, config, log, audit, counters, launchers, ...own }: SessionOptions) {
    const { server, number, tokenName, ofToken = () => [this] } = own;
    this.number = number;
    this.tokenName = tokenName;
    this.#ofToken = ofToken;
    this.#config = config;
    this.#counters = counters;
    this.#log = log;
    this.#familyMark = familyMark(server, number, 0);
    const nextMark = processMarks(server, number, () => this.processes.marks());
    this.network = new SessionNetwork(sandboxes.networks, nextMark);
    this.processes = new ProcessTable({
      audience: this,
      ownEnvironment: host.environment,
      settings: config,
      inputBudget: this.#inputBudget,
      closedProcessMs: limits.closedProcessMs,
      sandboxes,
      launchers,
      observer: new ProcessRecords({ log, audit, counters, user: () => this.user }),
      log,
      nextMark,
    });
  }

  /** Made for the first connection of the session that asks for files. */
  files(options: FileAccessOptions): SessionFiles {
    this.#files ??= new SessionFiles({ ...options, audience: this });
    return this.#files;
  }

  get proxyPrivateIpsViaUpstream(): boolean {
    return this.#config().proxyPrivateIpsViaUpstream;
  }

  /** The connections to ports; made for the first, which most sessions never ask for. */
  get streams(): StreamTable {
    this.#streams ??= new StreamTable({
      audience: this,
      settings: this.#config,
      inputBudget: this.#inputBudget,
      bytes: this.#counters.bytes,
      networks: this.networks,
      closedMs: limits.closedProcessMs,
      log: this.#log,
    });
    return this.#streams;
  }

  /** Where connections to ports are made. */
  get networks(): SessionNetworks {
    const { network, processes } = this;
    return {
      get shared() {
        return network.existing;
      },
      ofProcess: async (processId) => {
        const namespace = await processes.networkOf(processId);
        return namespace && { namespace, proxyPorts: processes.get(processId)?.proxyPorts ?? [] };
      },
    };
  }

  /** The connection that is attached now, if any. */
  get client(): Attachment | undefined {
    return this.#client;
  }

  /** How many processes its token has running, over all sessions. */
  get processesOfToken(): number {
    return this.#ofToken().reduce((sum, { processes }) => sum + processes.openCount, 0);
  }

  /** The session and its present client, for records. */
  get user(): AuditFacts {
    return { sessionId: this.id, peer: this.#client?.link.peer, tokenName: this.tokenName };
  }

  attach(client: Attachment, wishes: ClientWishes): void {
    this.#client = client;
    this.processes.attached();
    this.#streams?.attached();
    this.#wishes = wishes;
  }

  get wantsDenials(): boolean {
    return this.#wishes.sandboxDenials;
  }

  get wantsEndings(): boolean {
    return this.#wishes.endings;
  }

  /** Leaves the session without a connection for at most `forMs`. False when another connection has taken the session over. */
  detach(client: Attachment, forMs = 0): boolean {
    if (this.#client !== client) return false;
    this.#client = undefined;
    this.processes.detached(forMs);
    this.#streams?.detached(forMs);
    this.#files?.detached();
    return true;
  }

  /** The client has said that it takes notifications. */
  initialized(): void {
    this.#files?.attached();
  }

  /** Events are not queued for a client that is disconnected: once it has resumed, it reads the missed ones by `process/read` and `net/read`. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    return this.#client?.link.send(message, onDelivered);
  }

  probe(): void {
    this.#client?.link.probe();
  }

  async answers(): Promise<boolean> {
    return (await this.#client?.link.answers?.(limits.takeOverProbeMs)) ?? true;
  }

  /** Sends a request to the client on its present connection; gives the wire form of the answer. */
  async request(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    if (!this.#client) throw new ConnectionLost('no client is attached');
    if (this.#unanswered >= limits.serverRequestsInFlight) throw new Error('the client leaves too much unanswered');
    this.#unanswered++;
    const answer = this.#client.call(method, params).finally(() => this.#unanswered--);
    return await abortable(answer, signal);
  }

  /** Sends a notification unless `limit` of them already wait for a slow client. */
  notifyIfRoom(method: string, params: Readonly<Record<string, unknown>>, limit: number): void {
    if (this.#unsent >= limit) return;
    const sending = this.send(`{"method":"${method}","params":${JSON.stringify(params)}}`);
    if (!sending) return;
    this.#unsent++;
    void sending.finally(() => this.#unsent--);
  }

  /** Sends a notification to a client that asked for it in `initialize`. */
  notifyIfWanted(method: 'process/started' | 'process/failed', params: Readonly<Record<string, unknown>>): void {
    if (this.#wishes.events.has(method)) void this.send(`{"method":"${method}","params":${JSON.stringify(params)}}`);
  }

  /** Closes its connections, and kills every process of the session and the daemons that they left behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    using _network = this.network;
    await Promise.all([
      this.processes[Symbol.asyncDispose](),
      this.#streams?.[Symbol.asyncDispose](),
      this.#files?.[Symbol.asyncDispose](),
    ]);
    if (this.processes.hasStarted) await killFamily(this.#familyMark, SESSION_MASK);
  }
}
