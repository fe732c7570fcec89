import { Changes, concatBytes, HeadTail } from '../base/index.ts';
import {
  type Denial,
  ExecError,
  type OutputStream,
  type Params,
  type Result,
  type SignalName,
} from '../protocol/index.ts';
import { ConnectionLost } from '../rpc/index.ts';
import type { Calls } from './calls.ts';
import type { ConnectionWaits } from './connection-waits.ts';
import { UnsupportedError } from './errors.ts';
import type { FeedObserver } from './event-feed.ts';
import { OutputBuffer } from './output-buffer.ts';
import type { ProcessEvent } from './process-event.ts';
import { ProcessFeed, type ProcessFollower } from './process-feed.ts';
import { isOver, nextProcessState, type ProcessExit, type ProcessState } from './process-state.ts';
import { ProcessStdin } from './process-stdin.ts';
import { PulledFeed } from './pulled-feed.ts';
import { readSnapshot } from './snapshot.ts';

export type ProcessSnapshot = Result<'process/snapshot'>;
export type ProcessStat = Result<'process/stat'>;

export interface WaitOptions {
  /** `exited`: the process itself has ended; `closed`: its output has ended too, which is the default. */
  readonly until?: 'exited' | 'closed';
  readonly timeoutMs?: number;
}

export interface Communicated extends ProcessExit {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly terminal: Uint8Array;
}

export interface CollectOptions {
  /** How long to watch. */
  readonly yieldMs: number;
  /** Of longer output the first and the last half of this are given; 1 MiB by default. */
  readonly maxBytes?: number;
}

export interface Collected {
  /** The output of all streams in order of arrival. */
  readonly output: Uint8Array;
  readonly omittedBytes: number;
  readonly running: boolean;
  /** Known once the process has closed. */
  readonly exitCode: number | null;
  readonly sandboxDenied: boolean;
  readonly denials?: readonly Denial[] | undefined;
  readonly signal?: string;
  readonly timedOut?: boolean;
  readonly limitExceeded?: ProcessExit['limitExceeded'];
  readonly failure: Error | null;
}

/** What the server tells when it has started a process. */
export type StartAnswer = Pick<Result<'process/start'>, 'sandboxType' | 'pid' | 'limitsEnforcedBy'>;

export interface RemoteProcessOptions {
  readonly start: Pick<Params<'process/start'>, 'processId' | 'tty' | 'pipeStdin' | 'delivery'>;
  readonly calls: Calls;
  readonly waits: ConnectionWaits;
  readonly onOver: () => void;
}

/** A process on the server. Disposing it ends it. */
export class RemoteProcess implements AsyncDisposable {
  readonly processId: string;
  readonly #calls: Calls;
  readonly #waits: ConnectionWaits;
  readonly #stdin: ProcessStdin;
  readonly #output: OutputBuffer;
  readonly #feed: ProcessFollower;
  /** Fetches the output where the server does not send it. */
  readonly #pulled: PulledFeed | undefined;
  readonly #changes = new Changes();
  readonly #printedBytes: Record<OutputStream, number> = { stdout: 0, stderr: 0, pty: 0 };
  readonly #onOver: () => void;
  #started: StartAnswer | undefined;
  #lastSeq = 0;
  #state: ProcessState = { phase: 'running' };

  constructor({ start, calls, waits, onOver }: RemoteProcessOptions) {
    const { processId, tty, pipeStdin, delivery } = start;
    this.processId = processId;
    this.#calls = calls;
    this.#waits = waits;
    this.#onOver = onOver;
    this.#stdin = new ProcessStdin(processId, tty ? 'terminal' : pipeStdin ? 'pipe' : 'none', calls);
    this.#output = new OutputBuffer(processId, waits, () => this.#pulled?.want());
    const read = (afterSeq: number, limits: ReadLimits = { waitMs: 0 }) =>
      calls.request('process/read', { processId, afterSeq, ...limits });
    const observer: FeedObserver<ProcessEvent> = {
      event: (event) => this.#apply(event),
      failed: (failure) => this.#lose(failure),
    };
    this.#pulled =
      delivery === 'pull'
        ? new PulledFeed({
            processId,
            read,
            hasRoom: () => this.#output.isWanted,
            observer: { ...observer, outputEnded: () => this.#output.finish() },
          })
        : undefined;
    this.#feed = this.#pulled ?? new ProcessFeed(processId, read, observer);
  }

  get state(): ProcessState {
    return this.#state;
  }

  get isOver(): boolean {
    return isOver(this.#state);
  }

  get isStarted(): boolean {
    return this.#started !== undefined;
  }

  /** How the server confines the process; undefined from older servers. */
  get sandboxType(): string | undefined {
    return this.#started?.sandboxType;
  }

  /** Its number on the server's machine: that of the command, or of the program that makes its sandbox. Undefined from servers that do not tell. */
  get pid(): number | undefined {
    return this.#started?.pid;
  }

  /** What enforces each of its `limits`. */
  get limitsEnforcedBy(): StartAnswer['limitsEnforcedBy'] {
    return this.#started?.limitsEnforcedBy;
  }

  /** The output of the process, chunk by chunk; `OutputBuffer` says what is kept without an iteration. */
  get output(): AsyncIterable<{ stream: OutputStream; bytes: Uint8Array }> {
    return this.#output;
  }

  /** Called when the server has answered the start. */
  started(answer: StartAnswer): void {
    this.#started = answer;
  }

  /** Takes an event from the connection. The promise, if any, resolves when the reader of the output has caught up. */
  receive(event: ProcessEvent): void | Promise<void> {
    if (this.isOver) return;
    this.#feed.receive(event);
    return this.#output.room();
  }

  /** Reads the events that were missed while there was no connection. */
  async catchUp(): Promise<void> {
    if (!this.isOver) await this.#feed.catchUp();
  }

  fail(failure: Error): void {
    if (this.isOver) return;
    this.#pulled?.stop();
    this.#state = { phase: 'failed', failure };
    this.#finish(failure);
  }

  /** Events or output of the process cannot be had any more. */
  #lose(failure: Error): void {
    if (this.isOver) this.#output.finish(failure);
    else this.fail(failure);
  }

  /** Rejects when the process can no longer be followed. */
  async wait(options: WaitOptions = {}, signal?: AbortSignal): Promise<Result<'process/wait'>> {
    const { until = 'closed', timeoutMs = Number.POSITIVE_INFINITY } = options;
    const deadline = performance.now() + timeoutMs;
    const reached = (): boolean => this.isOver || (until === 'exited' && this.#state.phase === 'exited');
    while (!reached() && performance.now() < deadline) {
      signal?.throwIfAborted();
      await this.#waits.during(this.#changes.next({ timeoutMs: deadline - performance.now(), signal }));
    }
    const state = this.#state;
    if (state.phase === 'failed') throw state.failure;
    const { phase } = state;
    const { timedOut = false, ...end } = endOf(state);
    return { exited: phase !== 'running', closed: phase === 'closed', ...end, timedOut: !reached() || timedOut };
  }

  /** Writes in the order of the calls; resolves when the server has taken the bytes. */
  write(data: Uint8Array | string, signal?: AbortSignal): Promise<void> {
    return this.#stdin.write(data, signal);
  }

  closeStdin(signal?: AbortSignal): Promise<void> {
    return this.#stdin.close(signal);
  }

  /** Writes the input and its end to the process; resolves with the whole output when the process has closed. */
  async communicate(input?: Uint8Array | string, signal?: AbortSignal): Promise<Communicated> {
    if (input !== undefined) this.#stdin.requireCloseable();
    const [output] = await Promise.all([this.#readAll(signal), this.#feedAll(input, signal)]);
    await this.wait({}, signal);
    const { phase: _, ...exit } = this.#state as ProcessState & { phase: 'closed' };
    return { ...output, ...exit };
  }

  /** Waits for a while, or until the process closes, and gives the output since the last call. */
  async collect(options: CollectOptions, signal?: AbortSignal): Promise<Collected> {
    const kept = new HeadTail(options.maxBytes ?? COLLECTED_BYTES);
    const deadline = performance.now() + options.yieldMs;
    for (;;) {
      const { chunks, droppedBytes } = this.#output.takeAll();
      kept.omit(droppedBytes);
      for (const { bytes } of chunks) kept.add(bytes);
      const timeoutMs = deadline - performance.now();
      if (this.#output.hasEnded || timeoutMs <= 0) break;
      await this.#waits.during(this.#output.change({ timeoutMs, signal }));
      signal?.throwIfAborted();
    }
    const state = this.#state;
    const running = !this.#output.hasEnded;
    const end = endOf(running ? { phase: 'running' } : state);
    const failure = state.phase === 'failed' ? state.failure : null;
    const { bytes: output, omittedBytes } = kept;
    return { output, omittedBytes, running, ...end, failure };
  }

  async signal(signal: SignalName): Promise<void> {
    await this.#calls.request('process/signal', { processId: this.processId, signal });
  }

  /** Ends the process and its family; with a grace period it is first asked to end by itself. */
  async terminate(options: { readonly graceMs?: number } = {}): Promise<{ running: boolean }> {
    const { processId } = this;
    const { graceMs } = options;
    const knowsModes = this.#calls.supports('processWait');
    if (graceMs !== undefined && !knowsModes) {
      await this.signal('interrupt');
      await this.wait({ until: 'exited', timeoutMs: graceMs });
    }
    const mode =
      graceMs === undefined ? ({ type: 'force' } as const) : ({ type: 'graceful', timeoutMs: graceMs } as const);
    const { running } = await this.#calls.request('process/terminate', { processId, ...(knowsModes && { mode }) });
    return { running: running ?? false };
  }

  async resize(rows: number, cols: number): Promise<void> {
    if (!this.#calls.supports('processResize')) throw new UnsupportedError('resize a terminal', 'processResize');
    await this.#calls.request('process/resize', { processId: this.processId, rows, cols });
  }

  /** The output that the server still keeps. Other readers are not affected. */
  async snapshot(signal?: AbortSignal): Promise<ProcessSnapshot> {
    const { processId } = this;
    if (this.#calls.supports('processSnapshot')) return this.#calls.request('process/snapshot', { processId }, signal);
    const retained = await this.#calls.request('process/read', { processId, waitMs: 0 }, signal);
    return readSnapshot(retained, { lastSeq: this.#lastSeq, bytes: this.#printedBytes });
  }

  /** Processor time, memory and descendants of the process at this moment. */
  stat(signal?: AbortSignal): Promise<ProcessStat> {
    return this.#calls.request('process/stat', { processId: this.processId }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state.phase === 'closed') return;
    try {
      await this.terminate();
      if (!this.isOver) await this.wait({ until: 'exited' });
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error; // without a connection the server ends the process itself
    }
  }

  #apply(event: ProcessEvent): void {
    if (event.type === 'output') this.#print(event);
    else this.#advance(event);
  }

  #advance(event: Exclude<ProcessEvent, { type: 'output' }>): void {
    if (this.isOver) return;
    try {
      this.#state = nextProcessState(this.#state, event);
      this.#lastSeq = Math.max(this.#lastSeq, event.seq);
      if (event.type === 'closed') this.#finish();
      else this.#changes.notify();
    } catch (failure) {
      this.fail(failure as Error); // an impossible event fails only this process
    }
  }

  #print(event: ProcessEvent & { type: 'output' }): void {
    if (this.#state.phase === 'failed') return;
    this.#lastSeq = event.seq;
    this.#printedBytes[event.stream] += event.bytes.length;
    this.#output.add(event);
  }

  #finish(failure?: Error): void {
    if (failure || !this.#pulled) this.#output.finish(failure); // pulled output ends when it has been read
    this.#changes.notify();
    this.#onOver();
  }

  async #readAll(signal: AbortSignal | undefined): Promise<Pick<Communicated, 'stdout' | 'stderr' | 'terminal'>> {
    const parts: Record<OutputStream, Uint8Array[]> = { stdout: [], stderr: [], pty: [] };
    for await (const { stream, bytes } of this.#output.read(signal)) parts[stream].push(bytes);
    const { stdout, stderr, pty } = parts;
    return { stdout: concatBytes(stdout), stderr: concatBytes(stderr), terminal: concatBytes(pty) };
  }

  async #feedAll(input: Uint8Array | string | undefined, signal: AbortSignal | undefined): Promise<void> {
    if (input === undefined && !this.#stdin.canClosePipe) return;
    try {
      if (input !== undefined) await this.write(input, signal);
      await this.closeStdin(signal);
    } catch (error) {
      if (!(error instanceof ExecError)) throw error; // a process need not read its input: its exit code tells how it ended
    }
  }
}

type ReadLimits = Pick<Params<'process/read'>, 'maxBytes' | 'waitMs'>;

/** How the process ended; the exit code is null while it runs. */
function endOf(
  state: ProcessState,
): Omit<ProcessExit, 'exitCode' | 'denials'> & { exitCode: number | null; denials?: Denial[] } {
  if (state.phase !== 'exited' && state.phase !== 'closed') return { exitCode: null, sandboxDenied: false };
  const { phase: _, denials, ...exit } = state;
  return { ...exit, ...(denials && { denials: [...denials] }) };
}

const COLLECTED_BYTES = 1024 * 1024;
