import { setImmediate as nextTurn } from 'node:timers/promises';
import { Changes } from '../../base/index.ts';
import { ExecError, type Params, type Result, type SignalName } from '../../protocol/index.ts';
import {
  type Child,
  type ChildIo,
  type EncodedChunk,
  type ExitStatus,
  type OutputStream,
  outputStreams,
} from '../os/index.ts';
import type { Confined } from '../sandbox/index.ts';
import { InputBudget, NumberedOutput, OutputFrames } from '../stream/index.ts';
import type { ProcessAudience } from './audience.ts';
import { ProcessInput } from './input.ts';
import type { ImposedLimits } from './limits/imposed-limits.ts';
import type { Enforcers } from './limits/limit-names.ts';
import type { ObservedExit, ProcessObserver } from './observer.ts';
import { OutputSnapshots } from './output-snapshots.ts';
import { ProcessView } from './process-view.ts';
import { SandboxVerdict } from './sandbox-verdict.ts';
import { signalName, signalNumbers } from './signal-numbers.ts';
import { type LifecycleEvent, type LifecycleState, next } from './state.ts';
import { Termination } from './termination.ts';
import { TimeLimit, type TimeLimitOptions } from './time-limit.ts';

export interface ManagedProcessOptions {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly cwd: string | Buffer;
  readonly io: ChildIo;
  /** Output is not sent, and waits until it is read. */
  readonly isPulled?: boolean;
  readonly mark: bigint;
  readonly child: Child;
  /** The sandbox of the child, if it has one. */
  readonly confined?: Confined | undefined;
  readonly audience: ProcessAudience;
  readonly retainedOutputBytes: number;
  /** How long it may run, and how long it then has to end by itself. */
  readonly timeLimit?: TimeLimitOptions | undefined;
  readonly limits?: ImposedLimits | undefined;
  /** Shared by the processes of a session. */
  readonly inputBudget?: InputBudget;
  /** Counts what goes through the process. */
  readonly bytes: ProcessObserver['bytes'];
  readonly onExited: (exit: ObservedExit) => void;
  readonly onClosed: () => void;
  /** Called when an event of the process could not be handled, which is a bug; the process is ended. */
  readonly onFault: (error: unknown) => void;
  /** Called when refusals of the sandbox may be missing although they are recorded. */
  readonly onDenialsLost?: () => void;
}

type WriteStatus = Result<'process/write'>;

/** One process of a session: its states, its retained output and its stdin. */
export class ManagedProcess implements AsyncDisposable {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly cwd: string | Buffer;
  readonly tty: boolean;
  readonly startedAtMs = Date.now();
  readonly mark: bigint;
  /** What its client can see of it. */
  readonly view: ProcessView;
  readonly #child: Child;
  readonly #confined: Confined | undefined;
  readonly #audience: ProcessAudience;
  readonly #bytes: ProcessObserver['bytes'];
  readonly #onExited: (exit: ObservedExit) => void;
  readonly #onClosed: () => void;
  readonly #onFault: (error: unknown) => void;
  readonly #onDenialsLost: (() => void) | undefined;
  readonly #output: NumberedOutput;
  readonly #snapshots: OutputSnapshots;
  readonly #input: ProcessInput;
  readonly #verdict: SandboxVerdict;
  readonly #termination: Termination;
  readonly #timeLimit: TimeLimit | undefined;
  readonly #limits: ImposedLimits | undefined;
  readonly #changes = new Changes();
  #state: LifecycleState = { phase: 'starting' };
  /** An exit that is not announced yet, because output that is not read yet may show that the sandbox was the reason. */
  #heldExit: { readonly status: ExitStatus; readonly timer: NodeJS.Timeout } | undefined;

  constructor(options: ManagedProcessOptions) {
    const {
      processId,
      argv,
      cwd,
      io,
      isPulled = false,
      mark,
      child,
      confined,
      audience,
      retainedOutputBytes,
      onClosed,
    } = options;
    this.processId = processId;
    this.argv = argv;
    this.cwd = cwd;
    this.tty = io.type === 'pty';
    this.mark = mark;
    this.#child = child;
    this.#confined = confined;
    this.#audience = audience;
    this.#bytes = options.bytes;
    this.#onExited = options.onExited;
    this.#onClosed = onClosed;
    this.#onFault = options.onFault;
    this.#onDenialsLost = options.onDenialsLost;
    this.#output = new NumberedOutput({
      audience,
      frames: isPulled ? undefined : new OutputFrames('process/output', { processId }),
      retainedBytes: retainedOutputBytes,
      changes: this.#changes,
      settledBy: isPulled ? 'client' : 'delivery',
    });
    this.#snapshots = new OutputSnapshots(retainedOutputBytes, (chunk) => this.#output.drop(chunk));
    this.#verdict = new SandboxVerdict(confined, this.#output, argv);
    this.#limits = options.limits;
    this.#termination = new Termination({
      child,
      mark,
      limits: this.#limits,
      closed: async (timeoutMs, signal) => {
        await this.view.wait({ timeoutMs }, signal);
        return this.#state.phase === 'closed';
      },
    });
    this.#limits?.started({
      pid: child.pid,
      mark,
      isLauncher: confined?.controlSocket !== undefined,
      end: () => this.#inBackground(this.#termination.byForce()),
    });
    this.#timeLimit =
      options.timeLimit &&
      new TimeLimit(options.timeLimit, child.exited, (graceMs) =>
        this.#inBackground(graceMs > 0 ? this.#termination.gracefully(graceMs) : this.#termination.byForce()),
      );
    this.view = new ProcessView({
      state: () => this.#state,
      output: this.#output,
      snapshots: this.#snapshots,
      verdict: this.#verdict,
      timeLimit: this.#timeLimit,
      limits: this.#limits,
      changes: this.#changes,
      wantsDenials: () => audience.wantsDenials,
    });
    this.#input = new ProcessInput(child, this.tty, options.inputBudget ?? new InputBudget(), options.bytes);
    this.#inBackground(this.#apply({ type: 'spawned', streams: outputStreams(io).length + this.#sandboxStreams }));
    this.#inBackground(
      this.#handleEvents().catch((error) => {
        options.onFault(error);
        return this[Symbol.asyncDispose]();
      }),
    );
  }

  /** Runs work that no caller waits for. Its failure concerns this process alone. */
  #inBackground(work: Promise<unknown>): void {
    work.catch(this.#onFault);
  }

  /** What enforces each of its limits. */
  get limitsEnforcedBy(): Enforcers | undefined {
    return this.#limits?.enforcedBy;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Whether it runs in namespaces of its own, which its child makes. */
  get hasView(): boolean {
    return this.#confined?.controlSocket !== undefined;
  }

  /** The ports of its own loopback where proxies of the host listen. */
  get proxyPorts(): readonly number[] {
    return this.#confined?.proxyPorts ?? [];
  }

  get state(): LifecycleState {
    return this.#state;
  }

  get nextSeq(): number {
    return this.#output.nextSeq;
  }

  /** Whether it has output that waits to be read by its client. */
  get hasUnread(): boolean {
    return this.#output.waitsForClient;
  }

  get retainedBytes(): number {
    return this.#output.retainedBytes;
  }

  /** Handles the events of the child one after the other. */
  async #handleEvents(): Promise<void> {
    for await (const event of this.#child.events) {
      if (event.type === 'output') await this.#onOutput(event.stream, event.chunk);
      else if (event.type === 'ended') await this.#apply({ type: 'streamEnded' });
      else await this.#onExit(event.status);
      if (this.#heldExit && (event.type === 'output' || this.#hasEndedStreams())) {
        await this.#announceExit(this.#heldExit.status);
      }
    }
    if (this.#confined) await this.#leaveSandbox(this.#confined);
  }

  /**
   * Removes the mount points of the sandbox before the process closes. Not at the exit, because a launcher that is killed early
   * leaves a child that may still use them; and a turn of the event loop later, so that the client gets the exit first.
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
  get #sandboxStreams(): number {
    return this.#confined ? 1 : 0;
  }

  /** The last output of a sandboxed command decides how its failure is reported, so an exit waits for it. */
  async #onExit(status: ExitStatus): Promise<void> {
    const exitCode = this.#exitCode(status);
    // When a launcher is killed while it builds the sandbox, its child lives on.
    if (this.#confined && 'signal' in status) this.#inBackground(this.#termination.ofFamily());
    if (!this.#verdict.needsLastOutput(exitCode) || this.#hasEndedStreams()) return this.#announceExit(status);
    this.#heldExit = {
      status,
      timer: setTimeout(() => this.#inBackground(this.#announceExit(status)), LAST_OUTPUT_MS),
    };
  }

  #hasEndedStreams(): boolean {
    return this.#state.phase === 'running' && this.#state.openStreams === this.#sandboxStreams;
  }

  #announceExit(status: ExitStatus): Promise<void> {
    clearTimeout(this.#heldExit?.timer);
    this.#heldExit = undefined;
    if (this.#confined?.record?.isIncomplete) this.#onDenialsLost?.();
    this.#limits?.exited(status);
    const exitCode = this.#exitCode(status);
    const signal = 'signal' in status ? { signal: signalName(status.signal) } : {};
    return this.#apply({
      type: 'exited',
      exit: { exitCode, sandboxDenied: this.#verdict.wasDenied(exitCode), ...signal },
    });
  }

  /** Notifications get members that the reference does not know only where the client has shown that it knows them. */
  get #announcesEnding(): boolean {
    return this.#audience.wantsEndings || this.#timeLimit !== undefined || this.#limits !== undefined;
  }

  #onOutput(stream: OutputStream, chunk: EncodedChunk): Promise<void> {
    this.#bytes.output += chunk.byteLength;
    return this.#output.publish(stream, chunk, () => this.#snapshots.add(stream, chunk));
  }

  /** Announcements are numbered together with the change of state, so that no reader sees one without the other. */
  async #apply(event: LifecycleEvent): Promise<void> {
    this.#state = next(this.#state, event);
    const closes = this.#state.phase === 'closed'; // before the awaits below, during which a later event may close it
    const announcements: string[] = [];
    if (event.type === 'exited') {
      this.#onExited(this.#timeLimit?.isOver ? { ...event.exit, timedOut: true } : event.exit);
      announcements.push(
        this.#announcement('process/exited', {
          exitCode: event.exit.exitCode,
          sandboxDenied: event.exit.sandboxDenied,
          ...this.view.denials,
          ...(this.#announcesEnding ? this.view.ending : {}),
        }),
      );
    }
    if (closes) announcements.push(this.#announcement('process/closed', {}));
    this.#changes.notify();
    for (const announcement of announcements) await this.#audience.send(announcement);
    if (closes) this.#limits?.release();
    if (closes) this.#onClosed();
  }

  #announcement(method: string, facts: Readonly<Record<string, unknown>>): string {
    const params = { processId: this.processId, seq: this.#output.takeNumber(), ...facts };
    return `{"method":"${method}","params":${JSON.stringify(params)}}`;
  }

  /** The reference reports death by signal as 128+n for pipes and as 1 for a terminal. */
  #exitCode(status: ExitStatus): number {
    if ('code' in status) return status.code;
    return this.tty ? 1 : 128 + status.signal;
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
   * Ends the process and everything it started. Returns whether it was running. Descendants of an exited process are ended only
   * for a caller that names a mode: the reference does nothing then.
   */
  terminate(mode: Params<'process/terminate'>['mode']): boolean {
    if (this.#state.phase === 'draining' && mode) this.#inBackground(this.#termination.ofFamily()); // and read what it printed
    if (this.#state.phase !== 'running') return false;
    const graceful = mode?.type === 'graceful';
    this.#inBackground(graceful ? this.#termination.gracefully(mode.timeoutMs) : this.#termination.byForce());
    return true;
  }

  /** Sends SIGTERM, and SIGKILL when the signal aborts; resolves when the process has closed, or soon after SIGKILL. */
  end(signal: AbortSignal): Promise<void> {
    return this.#termination.until(signal, this.#onFault);
  }

  /** Kills the process group and drops the output; resolves when the direct child has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#output.endWaiting();
    this.#limits?.kill();
    await this.#child[Symbol.asyncDispose]();
    this.#confined?.claim[Symbol.dispose]();
  }
}

/** How long an exit is held back for output that explains it. */
const LAST_OUTPUT_MS = 20;
