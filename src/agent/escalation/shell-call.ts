import { deferred, type Logger, onAbort } from '../../base/index.ts';
import { killFamily, osErrorText, PROCESS_MASK } from '../../host/os/index.ts';
import { looksDenied, withoutRefusedExecs } from '../../host/sandbox/index.ts';
import { type Denial, ExecError } from '../../protocol/index.ts';
import { Broker, type BrokerEvent } from './broker.ts';
import type { Ending } from './broker-protocol.ts';
import { CallOutput } from './call-output.ts';
import { ExecDecider, type ExecSettings } from './exec-decider.ts';
import type { ExecRequest } from './exec-request.ts';
import { PausableTimer } from './pausable-timer.ts';
import type { AskEscalation } from './question.ts';
import type { ShellLaunch } from './shell-launch.ts';

export interface ShellOutcome {
  readonly exitCode: number;
  /** Both streams in order of arrival. */
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
  readonly sandboxDenied: boolean;
  /** The refusals of the sandbox, where they were recorded. */
  readonly denials: readonly Denial[] | undefined;
  readonly durationMs: number;
}

export interface ShellCallOptions {
  readonly launch: ShellLaunch;
  readonly settings: ExecSettings;
  readonly mark: bigint;
  /** Limits the time of the shell; questions to the user do not count. */
  readonly timeoutMs: number;
  readonly ask: AskEscalation | undefined;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Characters of output that are kept: as much as a client gets in one result. */
const MOST_OUTPUT = 1024 * 1024;
/** How long output may follow the exit of the shell: its children may still print. */
const GRACE_MS = 250;
/** How long processes may take to end after SIGTERM, before SIGKILL. */
const PATIENCE_MS = 500;
/** The exit code of `timeout(1)`. */
const TIMED_OUT = 124;

/** The reason why a call ends. */
type End = 'finished' | 'timedOut' | 'cancelled' | 'lost';

/** One script in a shell of its own, from its start to the end of its last process. */
export class ShellCall {
  readonly #options: ShellCallOptions;
  readonly #broker: Broker;
  readonly #decider: ExecDecider;
  readonly #output = new CallOutput(MOST_OUTPUT);
  readonly #end = deferred<End>();
  readonly #over = new AbortController();
  readonly #timer: PausableTimer;
  /** The shell has ended, and no process holds its output. */
  readonly #quiet = deferred();
  #openStreams = 2;
  #status: Ending | undefined;
  #failure: Error | undefined;

  /** Runs the script; throws when it cannot be started, or is cancelled. */
  static async run(options: ShellCallOptions): Promise<ShellOutcome> {
    return new ShellCall(options).#run();
  }

  private constructor(options: ShellCallOptions) {
    const { launch, settings, mark, timeoutMs, ask, log } = options;
    this.#options = options;
    this.#broker = Broker.start({
      mark,
      inherit: launch.confined.command.inherit ?? [],
      log,
      answerSeen: (path, argv) => this.#decider.answerSeen(path, argv),
    });
    this.#timer = new PausableTimer(timeoutMs, () => this.#end.resolve('timedOut'));
    this.#decider = new ExecDecider({
      settings,
      broker: this.#broker,
      ask,
      onQuestion: () => this.#timer.hold(),
      startMarker: launch.startMarker,
      signal: this.#over.signal,
    });
  }

  async #run(): Promise<ShellOutcome> {
    const { launch, signal } = this.#options;
    const startedAt = performance.now();
    using _cancelling = onAbort(signal, () => this.#end.resolve('cancelled'));
    await using broker = this.#broker;
    const following = this.#follow();
    try {
      await broker.shell(launch.start);
      launch.confined.started();
      const end = await this.#end.promise;
      await this.#finish(end);
      await following;
      if (end === 'cancelled') throw signal.reason;
      if (this.#failure) throw this.#failure;
      return this.#outcome(end === 'timedOut', performance.now() - startedAt);
    } finally {
      this.#over.abort(new Error('the call is over'));
      this.#timer[Symbol.dispose]();
    }
  }

  /** Takes every event until the broker has ended. */
  async #follow(): Promise<void> {
    try {
      for await (const event of this.#broker.events()) this.#take(event);
    } catch (error) {
      this.#failure ??= error as Error;
    }
    this.#quiet.resolve();
    this.#end.resolve('lost');
  }

  #take(event: BrokerEvent): void {
    switch (event.type) {
      case 'output':
        this.#output.add(event.stream, event.bytes);
        break;
      case 'ended':
        this.#openStreams--;
        this.#considerEnd();
        break;
      case 'exited':
        this.#status = event.status;
        setTimeout(() => this.#end.resolve('finished'), GRACE_MS).unref();
        this.#considerEnd();
        break;
      case 'failed':
        this.#failure = new ExecError('internal', startFailure(event.step, event.errno));
        this.#end.resolve('lost');
        break;
      case 'asked':
        void this.#answer(event.request);
        break;
      case 'gone':
        this.#decider.withdraw(event.id);
        break;
      case 'noted':
        this.#options.log.warn('broker.noted', { text: event.text });
    }
  }

  async #answer(request: ExecRequest): Promise<void> {
    try {
      await this.#decider.answer(request);
    } catch (error) {
      this.#options.log.error('exec.not_judged', { message: (error as Error).message });
      await this.#broker.deny(request.id, 'the server has failed to judge it');
    }
  }

  #considerEnd(): void {
    if (this.#status === undefined || this.#openStreams > 0) return;
    this.#quiet.resolve();
    this.#end.resolve('finished');
  }

  async #finish(end: End): Promise<void> {
    this.#over.abort(new Error('the call is over'));
    this.#timer[Symbol.dispose]();
    if (end === 'timedOut' || end === 'cancelled') await this.#terminate();
    if (end === 'finished') await this.#broker.leave();
    else await this.#broker[Symbol.asyncDispose]();
    // A broker that was killed has not ended the processes of the call.
    if (end === 'lost' || this.#broker.wasStuck) await killFamily(this.#options.mark, PROCESS_MASK);
    if (end === 'lost') this.#failure ??= new ExecError('internal', 'the broker of the call has ended unexpectedly');
  }

  /** Sends SIGTERM to all processes; those that stay are killed with the broker. */
  async #terminate(): Promise<void> {
    await this.#broker.signal('SIGTERM');
    const patience = setTimeout(() => this.#quiet.resolve(), PATIENCE_MS);
    await this.#quiet.promise;
    clearTimeout(patience);
  }

  #outcome(timedOut: boolean, durationMs: number): ShellOutcome {
    this.#output.end();
    const exitCode = timedOut ? TIMED_OUT : exitCodeOf(this.#status!);
    return {
      exitCode,
      output: this.#output.text(),
      stdout: this.#output.text('stdout'),
      stderr: this.#output.text('stderr'),
      truncated: this.#output.isTruncated,
      timedOut,
      sandboxDenied: !timedOut && this.#wasDenied(exitCode),
      denials: this.#options.launch.confined.record?.denials,
      durationMs,
    };
  }

  #wasDenied(exitCode: number): boolean {
    const { record, refused } = this.#options.launch.confined;
    return record ? exitCode !== 0 && !refused && record.denials.length > 0 : this.#looksDenied(exitCode);
  }

  /** Judges by the output, without the kernel's messages about execs that the rules have denied. */
  #looksDenied(exitCode: number): boolean {
    const { settings, launch } = this.#options;
    if (!settings.confinement || launch.confined.refused) return false;
    const byRules = launch.start.intercept !== 'bash' && this.#decider.deniedCount > 0;
    const printed = this.#output.pieces.map(({ stream, text }) => ({
      stream,
      bytes: Buffer.from(byRules ? withoutRefusedExecs(text) : text),
    }));
    return looksDenied(exitCode, printed);
  }
}

const exitCodeOf = (status: Ending): number => ('code' in status ? status.code : 128 + status.signal);

function startFailure(step: string, errno: number): string {
  const text = osErrorText(errno);
  return step === 'chdir' ? text : `the shell cannot be started: ${step}: ${text}`;
}
