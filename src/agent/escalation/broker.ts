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

/** A report of the broker, with requests to execute parsed. */
export type BrokerEvent =
  | Exclude<Report, { type: 'ready' | 'asked' | 'seen' }>
  | { readonly type: 'asked'; readonly request: ExecRequest };

/**
 * The order that answers a `seen` report: `run` lets this exec run where it is, `allow-path` also every later exec of the
 * path, whatever its arguments, and `inspect` has the broker send the whole request.
 */
export type SeenAnswer = 'run' | 'allow-path' | 'inspect';

export interface BrokerOptions {
  /** Family mark of the broker and everything it starts. */
  readonly mark: bigint;
  /** The descriptors that the shell gets from 3 on. */
  readonly inherit?: readonly (number | Uint8Array)[];
  readonly log?: Logger;
  /** Answers by the absolute path and the arguments alone; `inspect` unless given. */
  readonly answerSeen?: (path: string, argv: readonly string[]) => SeenAnswer;
  /** The program to start instead of the one built here. */
  readonly program?: string;
}

/**
 * The process that starts the shell of one call and the commands that leave its sandbox. Disposal ends everything that it has
 * started. Events must be iterated: while they are not, the broker stops being read.
 */
export class Broker implements AsyncDisposable {
  readonly #child: Child;
  readonly #channel: BrokerChannel;
  readonly #log: Logger;
  readonly #seenAnswer: (path: string, argv: readonly string[]) => SeenAnswer;
  readonly #reader = new ReportReader();
  /** What the broker printed, once it has ended. */
  readonly #printed: Promise<string>;
  #events: BrokerEvent[] = [];
  /** Bytes of `#events`. */
  #heldBytes = 0;
  /** Resolves when there is an event, or no more can come. */
  #wake: Deferred<void> = deferred();
  #failure: Error | undefined;
  #closed = false;
  #leaving = false;
  #stuck = false;

  private constructor(
    child: Child,
    channel: number,
    log: Logger,
    answerSeen: BrokerOptions['answerSeen'] = () => 'inspect',
  ) {
    this.#child = child;
    this.#channel = new BrokerChannel(channel, (bytes) => this.#take(bytes));
    this.#log = log;
    this.#seenAnswer = answerSeen;
    this.#printed = printedBy(child);
    void this.#channel.closed.then(() => {
      this.#closed = true;
      this.#wake.resolve();
    });
  }

  static start({ mark, inherit = [], log = silentLogger, answerSeen, program }: BrokerOptions): Broker {
    const io = { type: 'pipe', stdin: 'closed' } as const;
    const argv = [program ?? nativeFile('exec-broker')];
    const [own, other] = streamPair();
    try {
      const child = spawn({ argv, cwd: '/', env: {}, io, mark, inherit: [other, ...inherit] });
      return new Broker(child, own, log, answerSeen);
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

  /** Yields every event once, in order, until the broker has ended. */
  async *events(): AsyncGenerator<BrokerEvent> {
    while (!this.#closed || this.#events.length > 0) {
      yield* this.#events.splice(0);
      if (this.#events.length > 0 || this.#closed) continue;
      this.#wake = deferred();
      if (this.#heldBytes >= MOST_HELD_BYTES) this.#channel.resume();
      this.#heldBytes = 0;
      await this.#wake.promise;
    }
    if (this.#failure) throw this.#failure;
    const text = await this.#printed;
    if (text !== '') this.#log.warn('broker.complained', { text });
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

  /** Starts a command for the process that asked, if program and directory are still the pinned ones. */
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
    await this.#end(); // the broker has killed its processes, unless it was killed itself
    await this.#child[Symbol.asyncDispose]();
  }

  /** Whether the broker had to be killed because it did not end: its processes may still run. */
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

  /** Parses what the broker wrote; false when no more is to be read before the events are taken. */
  #take(bytes: Buffer): boolean {
    try {
      for (const report of this.#reader.push(bytes)) {
        if (report.type === 'seen') this.#answer(report);
        else this.#keep(report);
      }
    } catch (error) {
      this.#failure ??= error as Error;
      this.#channel.close();
    }
    return this.#heldBytes < MOST_HELD_BYTES;
  }

  /** Answers at once; most execs need no other answer. */
  #answer({ id, path, argv }: Extract<Report, { type: 'seen' }>): void {
    this.#channel.post(`${this.#answerTo(path, argv)} ${id}\n`);
  }

  #answerTo(path: string, argv: readonly string[]): SeenAnswer {
    try {
      return this.#seenAnswer(path, argv);
    } catch {
      return 'inspect'; // the whole request comes next, and its failure is reported
    }
  }

  #keep(report: Report): void {
    const event = this.#eventOf(report);
    if (event === undefined) return;
    this.#heldBytes +=
      EVENT_BYTES + ('bytes' in report ? report.bytes.length : 'block' in report ? report.block.length : 0);
    this.#events.push(event);
    this.#wake.resolve();
  }

  #eventOf(report: Report): BrokerEvent | undefined {
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

/** Bytes of events that wait to be iterated, above which the broker is not read. */
const MOST_HELD_BYTES = 1024 * 1024;
/** Memory of an event besides its bytes, about. */
const EVENT_BYTES = 256;
/** Characters of the broker's own output that are kept for the log. */
const LONGEST_PRINTED = 4096;
/** The broker takes up to two seconds to kill processes that start others. */
const PATIENCE_MS = 4000;

/** The output of the broker itself, once it has ended: error messages only. */
async function printedBy(child: Child): Promise<string> {
  let printed = '';
  for await (const event of child.events) {
    if (event.type !== 'output' || printed.length >= LONGEST_PRINTED) continue;
    const { buffer, start, end } = event.chunk;
    printed += decodeBase64Part(buffer, start, end);
  }
  return printed;
}
