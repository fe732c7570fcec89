import type { Logger } from '../base/index.ts';
import type { AuditFile } from './audit/audit-file.ts';
import { type AuditLog, noAudit } from './audit/audit-log.ts';
import { defaultConfig, type ExecServerConfig } from './config.ts';
import type { ConnectionPoint } from './connection-point.ts';
import { type OpsAddress, parseOpsUrl } from './ops/ops-address.ts';
import type { OpsListener } from './ops/ops-listener.ts';
import { ServerCounters } from './ops/server-counters.ts';
import type { Admission } from './websocket-auth.ts';

export interface OperationsOptions {
  readonly config?: Partial<ExecServerConfig> | undefined;
  /** Who may see the metrics from other machines; read for every request. */
  readonly admission: () => Admission;
  readonly allowUnauthenticated?: boolean | undefined;
  /** Aborts when the server begins to stop. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** What an operator gets to see of a server, as the settings say: its audit log, its health and its metrics. */
export class Operations implements AsyncDisposable {
  readonly counters = new ServerCounters();
  readonly #log: Logger;
  #onFull: ExecServerConfig['auditOnFull'];
  #audit: AuditFile | undefined;
  #listener: OpsListener | undefined;
  #point: Pick<ConnectionPoint, 'gauges'> | undefined;

  private constructor({ log, config }: OperationsOptions) {
    this.#log = log;
    this.#onFull = config?.auditOnFull ?? defaultConfig.auditOnFull;
  }

  /** Throws if the audit log cannot be kept, or the port for operators not be opened: nothing may be served then. */
  static async open(options: OperationsOptions): Promise<Operations> {
    const operations = new Operations(options);
    const { auditLog, opsListen } = options.config ?? {};
    try {
      if (auditLog != null) await operations.#openAudit(auditLog);
      if (opsListen != null) await operations.#listen(parseOpsUrl(opsListen), options);
      return operations;
    } catch (error) {
      await operations[Symbol.asyncDispose]();
      throw error;
    }
  }

  get audit(): AuditLog {
    return this.#audit ?? noAudit;
  }

  /** Names what serves the clients, for what is looked up. */
  watch(point: Pick<ConnectionPoint, 'gauges'>): void {
    this.#point = point;
  }

  /** Applies changed settings; the file is opened again, as it may have been moved away. What needs a restart stays as it is. */
  configure({ auditLog, auditOnFull }: Partial<ExecServerConfig> = {}): void {
    this.#onFull = auditOnFull ?? defaultConfig.auditOnFull;
    if (auditLog != null && this.#audit) this.#audit.reopen(auditLog);
    else if (auditLog != null || this.#audit) this.#log.warn('audit.unchanged', { reason: 'it takes a restart' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener?.[Symbol.asyncDispose]();
    this.#audit?.[Symbol.dispose]();
  }

  async #openAudit(path: string): Promise<void> {
    const { AuditFile } = await import('./audit/audit-file.ts');
    this.#audit = new AuditFile({ path, onFull: () => this.#onFull, counts: this.counters.audit, log: this.#log });
  }

  async #listen(address: OpsAddress, options: OperationsOptions): Promise<void> {
    const { admission, allowUnauthenticated, signal, log, config } = options;
    const [{ OpsListener }, { exposition }, { noGauges, serverMetrics }] = await Promise.all([
      import('./ops/ops-listener.ts'),
      import('./ops/exposition.ts'),
      import('./ops/server-metrics.ts'),
    ]);
    this.#listener = await OpsListener.listen({
      address,
      unixPeer: config?.unixPeerUid ?? undefined,
      admission,
      isStopping: () => signal.aborted,
      metrics: async () => exposition(await serverMetrics(this.counters, this.#point?.gauges ?? noGauges)),
      log,
    });
    const { auth, tokens } = admission();
    const isAuthenticated = auth.type !== 'none' || tokens !== undefined;
    if (!this.#listener.isPublic || isAuthenticated || allowUnauthenticated) return;
    throw new Error(
      `refusing to publish metrics on ${this.#listener.url} without authentication; use --tokens-file or --ws-auth and collect them with a token of the scope view, or choose a loopback address or unix:/PATH`,
    );
  }
}
