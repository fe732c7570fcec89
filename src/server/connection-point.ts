import { type Login, unnamedLogin } from '../access/index.ts';
import { faultFields, type Logger } from '../base/index.ts';
import { environmentInfo } from '../host/environment/index.ts';
import type { Host } from '../host/index.ts';
import { ServiceCookies } from '../host/network/index.ts';
import { HelperLaunchers, SandboxHost } from '../host/sandbox/index.ts';
import { type EnvironmentInfo, encode, methods } from '../protocol/index.ts';
import type { Link } from '../rpc/index.ts';
import { type AuditLog, noAudit } from './audit/audit-log.ts';
import { defaultConfig, type ExecServerConfig } from './config.ts';
import { type OwnInfo, ServerConnection } from './connection.ts';
import { ServerCounters } from './ops/server-counters.ts';
import type { ServerGauges } from './ops/server-metrics.ts';
import { SandboxWarmup } from './sandbox-warmup.ts';
import { Sessions } from './sessions.ts';

export interface ConnectionPointOptions {
  readonly host: Host;
  readonly config?: Partial<ExecServerConfig>;
  /** Whether each sandboxed command gets a pid namespace of its own (the default) or shares that of this process. */
  readonly sandboxPidNamespace?: 'isolate' | 'inherit' | undefined;
  readonly log: Logger;
  /** Where it is recorded what clients do; without one it is not. */
  readonly audit?: AuditLog | undefined;
  /** What is counted, for a program that publishes it. */
  readonly counters?: ServerCounters | undefined;
}

export interface ConnectOptions {
  /** Whether a client that lost this connection could come back on another. */
  readonly resumable: boolean;
  readonly login?: Login;
}

/** Makes links of any kind connections of one server, which share its sessions and settings. */
export class ConnectionPoint implements AsyncDisposable {
  readonly #host: Host;
  #config: ExecServerConfig;
  readonly #log: Logger;
  readonly #audit: AuditLog;
  readonly #counters: ServerCounters;
  #connections = 0;
  readonly #sandboxes: SandboxHost;
  readonly #sessions: Sessions;
  readonly #machine: EnvironmentInfo;
  #info: OwnInfo;
  readonly #launchers: HelperLaunchers;
  readonly #warmup: SandboxWarmup;
  readonly #serviceCookies = new ServiceCookies();

  constructor(options: ConnectionPointOptions) {
    const { host } = options;
    this.#host = host;
    this.#machine = environmentInfo(host.environment);
    this.#config = { ...defaultConfig, ...options.config };
    this.#info = ownInfo(this.#machine, this.#config);
    this.#log = options.log;
    this.#audit = options.audit ?? noAudit;
    this.#counters = options.counters ?? new ServerCounters();
    this.#sandboxes = new SandboxHost({
      environment: host.environment,
      commandPids: options.sandboxPidNamespace === 'inherit' ? 'host' : 'own',
      onJournalFault: (error) => this.#log.warn('mount_points.journal_kept', faultFields(error)),
    });
    this.#launchers = new HelperLaunchers(this.#sandboxes, () => this.#sessions.helperMark());
    this.#warmup = new SandboxWarmup(this.#sandboxes, this.#launchers, options.log);
    this.#sessions = new Sessions({
      host,
      sandboxes: this.#sandboxes,
      config: () => this.#config,
      log: options.log,
      audit: this.#audit,
      counters: this.#counters,
    });
  }

  get config(): ExecServerConfig {
    return this.#config;
  }

  /** What is looked up for the metrics. */
  get gauges(): ServerGauges {
    return { ...this.#sessions.gauges, connections: this.#connections };
  }

  /** Changes the settings of later connections and processes. */
  configure(config: Partial<ExecServerConfig> = {}): void {
    this.#config = { ...defaultConfig, ...config };
    this.#info = ownInfo(this.#machine, this.#config);
  }

  /** Ends every process and tells the clients; nothing is started any more. */
  finish(): Promise<void> {
    return this.#sessions.finish();
  }

  /** Ends the sessions that belong to tokens of these names. */
  endSessionsOf(tokenNames: ReadonlySet<string>): void {
    this.#sessions.endOf(tokenNames);
  }

  /** Serves a client. Without a login it may do what peers without a token may. */
  connect(link: Link, { resumable, login = unnamedLogin() }: ConnectOptions): void {
    this.#counters.connections++;
    this.#connections++;
    const closed = (): void => void this.#connections--;
    link.closed.then(closed, closed);
    new ServerConnection(link, {
      login,
      host: this.#host,
      sandboxes: this.#sandboxes,
      config: this.config,
      sessions: this.#sessions,
      info: this.#info,
      log: this.#log,
      audit: this.#audit,
      counters: this.#counters,
      launchers: this.#launchers,
      warmup: this.#warmup,
      serviceCookies: this.#serviceCookies,
      resumable,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions[Symbol.asyncDispose]();
    await this.#launchers[Symbol.asyncDispose]();
  }
}

/** The answer to `environment/info`: this machine, and the forms of `process/start` that are allowed. Encoded once for all clients. */
function ownInfo(machine: EnvironmentInfo, { allowDirectExec, allowPreparedExec }: ExecServerConfig): OwnInfo {
  const forms = { processStartDirect: allowDirectExec, processStartPrepared: allowPreparedExec };
  const value = { ...machine, capabilities: { ...machine.capabilities, ...forms } };
  return { value, json: JSON.stringify(encode(methods['environment/info'].result, value)) };
}
