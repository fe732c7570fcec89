import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/index.ts';
import { familyMark, killFamily, SESSION_MASK } from '../os/index.ts';
import { type ProcessAudience, ProcessTable } from '../process/index.ts';
import { limits } from '../protocol/index.ts';
import type { Link } from '../rpc/index.ts';
import type { ExecServerConfig } from './config.ts';

/** What outlives a connection: the processes of a client, waiting to be resumed while nobody is attached. */
export class Session implements ProcessAudience, AsyncDisposable {
  readonly id = randomUUID();
  readonly processes: ProcessTable;
  readonly #familyMark: bigint;
  #link: Link | undefined;
  #events: ReadonlySet<string> = new Set();

  constructor(config: ExecServerConfig, log: Logger, server: number, number: number) {
    this.#familyMark = familyMark(server, number, 0);
    this.processes = new ProcessTable({
      audience: this,
      ownEnvironment: process.env as Record<string, string>,
      retainedOutputBytes: config.retainedOutputBytesPerProcess,
      maxProcesses: config.maxProcessesPerConnection,
      closedProcessMs: limits.closedProcessMs,
      allowDirectExec: config.allowDirectExec,
      allowPreparedExec: config.allowPreparedExec,
      log,
      mark: (n) => familyMark(server, number, n),
    });
  }

  get attached(): boolean {
    return this.#link !== undefined;
  }

  attach(link: Link, events: readonly string[]): void {
    this.#link = link;
    this.#events = new Set(events);
  }

  detach(): void {
    this.#link = undefined;
  }

  /** Events are not queued for a client that is away: it reads what it missed when it comes back. */
  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    return this.#link?.send(message, onDelivered);
  }

  probe(): void {
    this.#link?.probe();
  }

  /** Sends a notification that only clients who asked for it know. */
  notifyIfWanted(method: 'process/started' | 'process/failed', params: Readonly<Record<string, unknown>>): void {
    if (this.#events.has(method)) void this.send(`{"method":"${method}","params":${JSON.stringify(params)}}`);
  }

  /** Kills every process of the session, and what they left behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.processes[Symbol.asyncDispose]();
    await killFamily(this.#familyMark, SESSION_MASK);
  }
}
