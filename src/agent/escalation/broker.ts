import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { type Deferred, deferred, type Logger, silentLogger } from '../../base/index.ts';
import { type Child, decodeBase64Part, nativeFile, spawn, streamPair } from '../../host/os/index.ts';
import { BrokerChannel } from './broker-channel.ts';
import {
  commandBlock,
  order,
  type Pins,
  type Report,
  ReportReader,
  type ShellStart,
  shellBlock,
} from './broker-protocol.ts';
import type { ExactCommand } from './exact-command.ts';
import { type ExecRequest, execRequest } from './exec-request.ts';

/** What a broker reports, with requests to execute already understood. */
export type BrokerEvent =
  | Exclude<Report, { type: 'ready' | 'asked' | 'seen' }>
  | { readonly type: 'asked'; readonly request: ExecRequest };

/**
 * Whether an exec runs where it is: `always` stands for every exec of the path with any arguments, about which the broker
 * does not ask again; `no` has it asked about in full.
 */
export type Passage = 'always' | 'once' | 'no';

export interface BrokerOptions {
  /** Family mark of the broker and everything it starts. */
  readonly mark: bigint;
  /** Become the descriptors from 3 on of its shell. */
  readonly inherit?: readonly (number | Uint8Array)[];
  readonly log?: Logger;
  /** What becomes of an absolute path with these arguments, whatever else is to know. */
  readonly passes?: (path: string, argv: readonly string[]) => Passage;
  /** Another program than the one built here. */
  readonly program?: string;
}

/**
 * The process that starts the shell of one call and what is to run outside its sandbox. Disposing it ends everything it has
 * started. Its events must be taken: nothing goes on while they are not.
 */
export class Broker implements AsyncDisposable {
  readonly #child: Child;
  readonly #channel: BrokerChannel;
  readonly #log: Logger;
  readonly #passes: (path: string, argv: readonly string[]) => Passage;
  readonly #reader = new ReportReader();
  readonly #complaint: Promise<string>;
  #events: BrokerEvent[] = [];
  #held = 0;
  #news: Deferred<void> = deferred();
  #failure: Error | undefined;
  #closed = false;
  #leaving = false;
  #stuck = false;

  private constructor(child: Child, channel: number, log: Logger, passes: BrokerOptions['passes'] = () => 'no') {
    this.#child = child;
    this.#channel = new BrokerChannel(channel, (bytes) => this.#take(bytes));
    this.#log = log;
    this.#passes = passes;
    this.#complaint = complaintOf(child);
    void this.#channel.closed.then(() => {
      this.#closed = true;
      this.#news.resolve();
    });
  }

  static start({ mark, inherit = [], log = silentLogger, passes, program }: BrokerOptions): Broker {
    const io = { type: 'pipe', stdin: 'closed' } as const;
    const argv = [program ?? nativeFile('exec-broker')];
    const [own, other] = streamPair();
    try {
      const child = spawn({ argv, cwd: '/', env: {}, io, mark, inherit: [other, ...inherit] });
      return new Broker(child, own, log, passes);
    } catch (error) {
      closeSync(own);
      throw error;
    } finally {
      closeSync(other);
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Every event, once, in order; ends with the broker. */
  async *events(): AsyncGenerator<BrokerEvent> {
    while (!this.#closed || this.#events.length > 0) {
      yield* this.#events.splice(0);
      if (this.#events.length > 0 || this.#closed) continue;
      this.#news = deferred();
      if (this.#held >= MOST_HELD) this.#channel.resume();
      this.#held = 0;
      await this.#news.promise;
    }
    if (this.#failure) throw this.#failure;
    const complaint = await this.#complaint;
    if (complaint !== '') this.#log.warn('broker.complained', { text: complaint });
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

  /** Starts a command for the asker, if its program and its directory are still those that are pinned. */
  escalate(id: number, command: ExactCommand, pins?: Pins): Promise<void> {
    return this.#order(order(['escalate', id], commandBlock(command, pins)));
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
    this.#channel.end();
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
    this.#channel.close();
  }

  #order(bytes: Buffer): Promise<void> {
    return this.#channel.write(bytes);
  }

  /** Whether more may come at once. */
  #take(bytes: Buffer): boolean {
    try {
      for (const report of this.#reader.push(bytes)) {
        if (report.type === 'seen') this.#answerSeen(report);
        else this.#keep(report);
      }
    } catch (error) {
      this.#failure ??= error as Error;
      this.#channel.close();
    }
    return this.#held < MOST_HELD;
  }

  /** Most execs end here. */
  #answerSeen({ id, path, argv }: Extract<Report, { type: 'seen' }>): void {
    this.#channel.post(`${orders[this.#passage(path, argv)]} ${id}\n`);
  }

  #passage(path: string, argv: readonly string[]): Passage {
    try {
      return this.#passes(path, argv);
    } catch {
      return 'no'; // it is asked about, where failures are seen to
    }
  }

  #keep(report: Report): void {
    const event = this.#understood(report);
    if (event === undefined) return;
    this.#held += EVENT_SIZE + ('bytes' in report ? report.bytes.length : 'block' in report ? report.block.length : 0);
    this.#events.push(event);
    this.#news.resolve();
  }

  #understood(report: Report): BrokerEvent | undefined {
    if (report.type === 'ready' || report.type === 'seen') return undefined;
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

const orders = { always: 'allow-path', once: 'run', no: 'inspect' } as const;

/** Bytes of events that wait to be taken, above which nothing is read. */
const MOST_HELD = 1024 * 1024;
/** What an event takes besides its bytes. */
const EVENT_SIZE = 256;
const LONGEST_COMPLAINT = 4096;
/** It takes up to two seconds to kill what does not want to die. */
const PATIENCE_MS = 4000;

/** What it has to say for itself, once it has ended. */
async function complaintOf(child: Child): Promise<string> {
  let complaint = '';
  for await (const event of child.events) {
    if (event.type !== 'output' || complaint.length >= LONGEST_COMPLAINT) continue;
    const { buffer, start, end } = event.chunk;
    complaint += decodeBase64Part(buffer, start, end);
  }
  return complaint;
}
