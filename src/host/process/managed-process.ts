import { constants } from 'node:os';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Changes, decodeBase64, decodeLatin1 } from '../../base/index.ts';
import { type Denial, ExecError, limits, type Params, type Result, type SignalName } from '../../protocol/index.ts';
import {
  type Child,
  type ExitStatus,
  killFamily,
  type OutputChunk,
  type OutputStream,
  PROCESS_MASK,
} from '../os/index.ts';
import { type Confined, KILLED_BY_FILTER, looksDenied } from '../sandbox/index.ts';
import type { ProcessAudience } from './audience.ts';
import { ChunkKeepers } from './chunk-keepers.ts';
import { ProcessInput } from './input.ts';
import { InputBudget } from './input-budget.ts';
import { OutputFrames, readResultParts } from './output-frames.ts';
import { OutputSnapshots } from './output-snapshots.ts';
import { type RetainedChunk, RetainedOutput } from './retained-output.ts';
import { signalNumbers } from './signal-numbers.ts';
import { deniedIn, exitCodeOf, next, type ProcessEvent, type ProcessState } from './state.ts';

export interface ManagedProcessOptions {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly mark: bigint;
  readonly child: Child;
  /** How the child is held by a sandbox, if it is. */
  readonly confined?: Confined | undefined;
  readonly audience: ProcessAudience;
  readonly retainedOutputBytes: number;
  /** Shared by the processes of a session. */
  readonly inputBudget?: InputBudget;
  readonly onClosed: () => void;
  /** Called when following the process failed through a fault of ours; the process is ended. */
  readonly onFault: (error: unknown) => void;
  /** Called when what the sandbox has refused is not known although it should be. */
  readonly onDenialsLost?: () => void;
}

type WriteStatus = Result<'process/write'>;

/** One process of a session: its states, its retained output and its stdin. */
export class ManagedProcess implements AsyncDisposable {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly startedAtMs = Date.now();
  readonly mark: bigint;
  readonly #child: Child;
  readonly #confined: Confined | undefined;
  readonly #audience: ProcessAudience;
  readonly #onClosed: () => void;
  readonly #onFault: (error: unknown) => void;
  readonly #onDenialsLost: (() => void) | undefined;
  readonly #output: RetainedOutput;
  readonly #snapshots: OutputSnapshots;
  readonly #input: ProcessInput;
  readonly #frames: OutputFrames;
  readonly #keepers = new ChunkKeepers();
  readonly #changes = new Changes();
  #state: ProcessState = { phase: 'starting' };
  #nextSeq = 1;
  /** An exit that is not announced yet: what is still to be read may tell why. */
  #heldExit: { readonly exitCode: number; readonly timer: NodeJS.Timeout } | undefined;
  #abandoned = false;

  constructor(options: ManagedProcessOptions) {
    const { processId, argv, tty, mark, child, confined, audience, retainedOutputBytes, onClosed } = options;
    this.processId = processId;
    this.argv = argv;
    this.tty = tty;
    this.mark = mark;
    this.#child = child;
    this.#confined = confined;
    this.#audience = audience;
    this.#onClosed = onClosed;
    this.#onFault = options.onFault;
    this.#onDenialsLost = options.onDenialsLost;
    const drop = (chunk: OutputChunk) => this.#keepers.drop(chunk);
    this.#output = new RetainedOutput({ bytes: retainedOutputBytes, chunks: limits.retainedChunks }, drop);
    this.#snapshots = new OutputSnapshots(retainedOutputBytes, drop);
    this.#frames = new OutputFrames(processId);
    this.#input = new ProcessInput(child, tty, options.inputBudget ?? new InputBudget());
    this.#aside(this.#apply({ type: 'spawned', streams: (tty ? 1 : 2) + this.#sandboxes }));
    this.#aside(
      this.#follow().catch((error) => {
        options.onFault(error);
        return this[Symbol.asyncDispose]();
      }),
    );
  }

  /** Work that is not waited for; its failure concerns this process alone. */
  #aside(work: Promise<unknown>): void {
    work.catch(this.#onFault);
  }

  get pid(): number {
    return this.#child.pid;
  }

  get state(): ProcessState {
    return this.#state;
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  get retainedBytes(): number {
    return this.#output.bytes;
  }

  /** Passes on every event of the child, in order, each before the next. */
  async #follow(): Promise<void> {
    for await (const event of this.#child.events) {
      if (event.type === 'output') await this.#printed(event.stream, event.chunk);
      else if (event.type === 'ended') await this.#apply({ type: 'streamEnded' });
      else await this.#exited(event.status);
      if (this.#heldExit && (event.type === 'output' || this.#hasEndedStreams())) {
        await this.#announceExit(this.#heldExit.exitCode);
      }
    }
    if (this.#confined) await this.#leaveSandbox(this.#confined);
  }

  /**
   * What a sandbox has put on the disk goes before the process closes. Not at the exit: a launcher that is killed early leaves
   * a child behind, which is still busy with it. And a turn later: the client has heard of the exit by then.
   */
  async #leaveSandbox({ claim }: Confined): Promise<void> {
    await nextTurn();
    try {
      claim[Symbol.dispose]();
    } finally {
      await this.#apply({ type: 'streamEnded' });
    }
  }

  /** A sandbox counts as one more stream that has to end. */
  get #sandboxes(): number {
    return this.#confined ? 1 : 0;
  }

  /** The last words of a command in a sandbox decide how its failure is reported, so they are waited for. */
  async #exited(status: ExitStatus): Promise<void> {
    const exitCode = this.#exitCode(status);
    // A launcher that is killed while it builds the sandbox does not take its child with it.
    if (this.#confined && 'signal' in status) this.#aside(killFamily(this.mark, PROCESS_MASK));
    if (this.#isKnown || !this.#canBeDenied(exitCode) || this.#hasEndedStreams()) return this.#announceExit(exitCode);
    this.#heldExit = { exitCode, timer: setTimeout(() => this.#aside(this.#announceExit(exitCode)), LAST_WORDS_MS) };
  }

  #canBeDenied(exitCode: number): boolean {
    return exitCode !== 0 && this.#confined !== undefined && !this.#confined.refused;
  }

  #hasEndedStreams(): boolean {
    return this.#state.phase === 'running' && this.#state.openStreams === this.#sandboxes;
  }

  #announceExit(exitCode: number): Promise<void> {
    clearTimeout(this.#heldExit?.timer);
    this.#heldExit = undefined;
    if (this.#confined?.record?.isIncomplete) this.#onDenialsLost?.();
    return this.#apply({ type: 'exited', exitCode, sandboxDenied: this.#wasDenied(exitCode) });
  }

  /** By what the sandbox has refused where that is recorded, and else by what was printed. */
  #wasDenied(exitCode: number): boolean {
    if (!this.#canBeDenied(exitCode)) return false;
    const record = this.#record;
    if (!record) return looksDenied(exitCode, this.#output.after(0).map(printed));
    if (exitCode === KILLED_BY_FILTER) record.addKilled(basename(this.argv[0] ?? ''));
    return record.denials.length > 0;
  }

  get #isKnown(): boolean {
    return this.#record !== undefined;
  }

  /** What the sandbox has refused, where all of it is known. */
  get #record(): Confined['record'] {
    const record = this.#confined?.record;
    return record?.isIncomplete ? undefined : record;
  }

  /** What the sandbox has refused, for a client that asks; nothing where it is unknown. */
  #denials(): { denials?: Denial[] } {
    if (!this.#audience.wantsDenials) return {};
    const known = this.#confined && !this.#confined.refused ? this.#record?.denials : [];
    return known ? { denials: [...known] } : {};
  }

  async #printed(stream: OutputStream, chunk: OutputChunk): Promise<void> {
    while (!this.#output.hasRoom(chunk.byteLength) && !this.#abandoned) {
      this.#audience.probe();
      await this.#changes.next();
    }
    const seq = this.#nextSeq++;
    this.#keepers.keep(chunk, KEEPERS_OF_NEW_CHUNK);
    this.#output.add({ seq, stream, chunk });
    this.#snapshots.add(stream, chunk);
    this.#changes.notify();
    await this.#audience.send(this.#frames.notification(seq, stream, chunk), () => {
      if (this.#output.deliver(seq)) this.#changes.notify();
      this.#keepers.drop(chunk);
    });
  }

  /** Numbers are taken together with the change of state, so that no reader sees the one without the other. */
  async #apply(event: ProcessEvent): Promise<void> {
    this.#state = next(this.#state, event);
    const closes = this.#state.phase === 'closed'; // asked now: by the time all is sent a later event may have closed it
    const announcements: string[] = [];
    if (event.type === 'exited') {
      announcements.push(
        this.#announcement('process/exited', {
          exitCode: event.exitCode,
          sandboxDenied: event.sandboxDenied,
          ...this.#denials(),
        }),
      );
    }
    if (closes) announcements.push(this.#announcement('process/closed', {}));
    this.#changes.notify();
    for (const announcement of announcements) await this.#audience.send(announcement);
    if (closes) this.#onClosed();
  }

  #announcement(method: string, facts: Readonly<Record<string, unknown>>): string {
    const params = { processId: this.processId, seq: this.#nextSeq++, ...facts };
    return `{"method":"${method}","params":${JSON.stringify(params)}}`;
  }

  /** The reference reports death by signal as 128+n behind pipes and as 1 behind a terminal. */
  #exitCode(status: ExitStatus): number {
    if ('code' in status) return status.code;
    return this.tty ? 1 : 128 + status.signal;
  }

  /** The client has every event up to this number. */
  settle(seq: number): void {
    if (this.#output.settle(seq)) this.#changes.notify();
  }

  /** Resolves when there is something to read, or nothing to wait for any more. */
  async readable(params: Params<'process/read'>, signal: AbortSignal): Promise<void> {
    const afterSeq = params.afterSeq ?? 0;
    const deadline = performance.now() + (params.waitMs ?? 0);
    this.settle(afterSeq);
    for (;;) {
      const waitMs = deadline - performance.now();
      if (this.#output.hasAfter(afterSeq) || this.#nothingToAwait(afterSeq) || waitMs <= 0 || signal.aborted) return;
      await this.#changes.next({ timeoutMs: Math.ceil(waitMs), signal });
    }
  }

  /** The parts of a `process/read` result as JSON text; `delivered` is to be called when the client has them. */
  read(params: Params<'process/read'>): { parts: Uint8Array[]; delivered: () => void } {
    const afterSeq = params.afterSeq ?? 0;
    const maxBytes = params.maxBytes ?? undefined;
    const chunks = this.#output.after(afterSeq, maxBytes);
    const lastSeq = chunks.at(-1)?.seq ?? afterSeq;
    const nextSeq = maxBytes !== undefined && chunks.length > 0 ? lastSeq + 1 : this.#nextSeq;
    for (const { chunk } of chunks) this.#keepers.keep(chunk);
    const delivered = () => {
      this.settle(lastSeq);
      for (const { chunk } of chunks) this.#keepers.drop(chunk);
    };
    return { parts: readResultParts(chunks, this.#readFacts(afterSeq, nextSeq)), delivered };
  }

  #nothingToAwait(afterSeq: number): boolean {
    const { phase } = this.#state;
    return phase === 'closed' || (phase === 'draining' && afterSeq < this.#nextSeq - 1);
  }

  #readFacts(afterSeq: number, nextSeq: number): Omit<Result<'process/read'>, 'chunks'> {
    const exitCode = exitCodeOf(this.#state);
    return {
      nextSeq,
      exited: exitCode !== null,
      exitCode,
      closed: this.#state.phase === 'closed',
      failure: null,
      sandboxDenied: deniedIn(this.#state),
      ...this.#denials(),
      truncated: this.#output.evictedSeq > afterSeq,
      oldestSeq: this.#output.oldestSeq ?? this.#nextSeq,
    };
  }

  write(writeId: string | undefined, bytes: Uint8Array): Promise<WriteStatus> {
    return this.#input.write(writeId, bytes, this.#state.phase === 'running');
  }

  closeStdin(): Promise<WriteStatus> {
    return this.#input.close(this.#state.phase === 'running');
  }

  resize(rows: number, cols: number): void {
    if (!this.tty) throw new ExecError('invalidParams', `process ${this.processId} has no terminal to resize`);
    if (this.#state.phase === 'running') this.#child.resize(rows, cols);
  }

  signal(name: SignalName): void {
    if (this.#state.phase === 'running') this.#child.signal(signalNumbers[name]);
  }

  /**
   * Ends the process and everything it started. Returns whether it was running. What an exited process has left
   * running ends only for a caller that names a mode: to the reference such a process is over.
   */
  terminate(mode: Params<'process/terminate'>['mode']): boolean {
    if (this.#state.phase === 'draining' && mode) this.#aside(killFamily(this.mark, PROCESS_MASK)); // and read what it printed
    if (this.#state.phase !== 'running') return false;
    this.#aside(mode?.type === 'graceful' ? this.#endGracefully(mode.timeoutMs) : this.#endByForce());
    return true;
  }

  /** Asks it to end, and ends it by force when the signal aborts; resolves when it has closed, or soon after that. */
  async end(signal: AbortSignal): Promise<void> {
    this.signal('terminate');
    await this.wait({}, signal);
    if (this.#state.phase === 'closed') return;
    this.#aside(this.#endByForce());
    await this.wait({ timeoutMs: FORCED_END_MS }, new AbortController().signal);
  }

  async #endGracefully(timeoutMs: number): Promise<void> {
    this.#child.signal(constants.signals.SIGTERM);
    await this.wait({ timeoutMs, until: 'closed' }, new AbortController().signal);
    await this.#endByForce();
  }

  async #endByForce(): Promise<void> {
    this.#child.signal(constants.signals.SIGKILL);
    await killFamily(this.mark, PROCESS_MASK);
    await this.#child.exited;
    // A process outside the family that still holds a pipe end must not keep this one from closing.
    this.#child.closeOutputs();
  }

  async wait(
    options: { timeoutMs?: number | null | undefined; until?: 'exited' | 'closed' | null | undefined },
    signal: AbortSignal,
  ): Promise<Result<'process/wait'>> {
    const { timeoutMs, until } = options;
    const deadline = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    const reached = () => this.#state.phase === 'closed' || (until === 'exited' && this.#state.phase === 'draining');
    while (!reached() && performance.now() < deadline && !signal.aborted) {
      await this.#changes.next({
        signal,
        ...(timeoutMs == null ? {} : { timeoutMs: Math.ceil(deadline - performance.now()) }),
      });
    }
    const exitCode = exitCodeOf(this.#state);
    return {
      exited: exitCode !== null,
      exitCode,
      closed: this.#state.phase === 'closed',
      sandboxDenied: deniedIn(this.#state),
      ...this.#denials(),
      timedOut: !reached(),
    };
  }

  snapshot(): Result<'process/snapshot'> {
    const running = this.#state.phase === 'running';
    return { ...this.#snapshots.read(), exitCode: exitCodeOf(this.#state), running };
  }

  /** Ends the process group and forgets the output; resolves when the direct child is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abandoned = true;
    this.#changes.notify();
    await this.#child[Symbol.asyncDispose]();
    this.#confined?.claim[Symbol.dispose]();
  }
}

/** The retained output, the snapshot, and the message on its way to the client. */
const KEEPERS_OF_NEW_CHUNK = 3;

/** How long the last output of a killed process may take to be passed on. */
const FORCED_END_MS = 500;

/** How long an exit may be held back for output that explains it. */
const LAST_WORDS_MS = 20;

function printed({ stream, chunk }: RetainedChunk): { stream: OutputStream; bytes: Uint8Array } {
  return { stream, bytes: decodeBase64(decodeLatin1(chunk.buffer, chunk.start, chunk.end)) };
}
