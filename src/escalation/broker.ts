import { constants } from 'node:os';
import { type Logger, silentLogger } from '../base/index.ts';
import { type Child, type ChildEvent, decodeBase64Part, nativeFile, spawn } from '../os/index.ts';
import {
  commandBlock,
  type FileIdentity,
  order,
  type Report,
  ReportReader,
  type ShellStart,
  shellBlock,
} from './broker-protocol.ts';
import type { ExactCommand } from './exact-command.ts';
import { type ExecRequest, execRequest } from './exec-request.ts';

/** What a broker reports, with requests to execute already understood. */
export type BrokerEvent =
  | Exclude<Report, { type: 'ready' | 'asked' }>
  | { readonly type: 'asked'; readonly request: ExecRequest };

export interface BrokerOptions {
  /** Family mark of the broker and everything it starts. */
  readonly mark: bigint;
  /** Become the descriptors from 3 on, of the broker and then of its shell. */
  readonly inherit?: readonly (number | Uint8Array)[];
  readonly log?: Logger;
  /** Another program than the one built here. */
  readonly program?: string;
}

/**
 * The process that starts the shell of one call and what is to run outside its sandbox. Disposing it ends everything it has
 * started. Its events must be taken: nothing goes on while they are not.
 */
export class Broker implements AsyncDisposable {
  readonly #child: Child;
  readonly #log: Logger;
  readonly #reader = new ReportReader();
  #complaint = '';
  #leaving = false;
  #stuck = false;

  private constructor(child: Child, log: Logger) {
    this.#child = child;
    this.#log = log;
  }

  static start({ mark, inherit = [], log = silentLogger, program = nativeFile('exec-broker') }: BrokerOptions): Broker {
    const io = { type: 'pipe', stdin: 'open' } as const;
    return new Broker(spawn({ argv: [program], cwd: '/', env: {}, io, mark, inherit }), log);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Every event, once, in order; ends with the broker. */
  async *events(): AsyncGenerator<BrokerEvent> {
    for await (const event of this.#child.events) {
      for (const report of this.#reports(event)) {
        const understood = this.#understood(report);
        if (understood !== undefined) yield understood;
      }
    }
    if (this.#complaint !== '') this.#log.warn('broker.complained', { text: this.#complaint });
  }

  shell(start: ShellStart): Promise<void> {
    return this.#order(order(['shell'], shellBlock(start)));
  }

  run(id: number): Promise<void> {
    return this.#order(order(['run', id]));
  }

  deny(id: number, reason = ''): Promise<void> {
    return this.#order(order(['deny', id], Buffer.from(reason)));
  }

  /** Starts a command for the asker; when an identity is given, only if the file is still the same. */
  escalate(id: number, command: ExactCommand, identity?: FileIdentity): Promise<void> {
    return this.#order(order(['escalate', id], commandBlock(command, identity)));
  }

  /** Signals every process of the call. */
  signal(name: NodeJS.Signals): Promise<void> {
    return this.#order(order(['signal', constants.signals[name]]));
  }

  /** Kills every process of the call; `swept` is reported when none is left. */
  kill(): Promise<void> {
    return this.#order(order(['kill']));
  }

  /** Ends the broker, and all processes that have not detached themselves. */
  async leave(): Promise<void> {
    this.#leaving = true;
    await this.#order(order(['leave']));
    this.#child.closeOutputs();
    await this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#child.stdin?.end();
    this.#child.closeOutputs();
    await this.#end(); // it has killed the rest, unless it was killed itself
    await this.#child[Symbol.asyncDispose]();
  }

  /** Whether it had to be killed because it did not end, and has left the rest alone. */
  get wasStuck(): boolean {
    return this.#stuck;
  }

  async #end(): Promise<void> {
    const patience = setTimeout(() => {
      this.#stuck = true;
      this.#child.signal(constants.signals.SIGKILL);
    }, PATIENCE_MS);
    await this.#child.exited;
    clearTimeout(patience);
  }

  async #order(bytes: Buffer): Promise<void> {
    await this.#child.stdin?.write(bytes).catch(() => undefined); // the end of its events says that it has ended
  }

  *#reports(event: ChildEvent): Generator<Report> {
    if (event.type !== 'output') return;
    const { buffer, start, end } = event.chunk;
    const bytes = decodeBase64Part(buffer, start, end) as Buffer;
    if (event.stream === 'stdout') yield* this.#reader.push(bytes);
    else if (this.#complaint.length < LONGEST_COMPLAINT) this.#complaint += bytes.toString();
  }

  #understood(report: Report): BrokerEvent | undefined {
    if (report.type === 'ready') return undefined;
    if (report.type !== 'asked') return report;
    const request = execRequest(report);
    if (request !== undefined) {
      if (request.contradictory) this.#log.warn('broker.request_contradictory', { file: request.file });
      return { type: 'asked', request };
    }
    void this.deny(report.id, 'the request cannot be understood');
    return { type: 'noted', text: `request ${report.id} cannot be understood` };
  }
}

const LONGEST_COMPLAINT = 4096;
/** It takes up to two seconds to kill what does not want to die. */
const PATIENCE_MS = 4000;
