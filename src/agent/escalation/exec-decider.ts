import { posix } from 'node:path';
import { type Logger, onAbort } from '../../base/index.ts';
import { gitCallHazard, type Policy } from '../rules/index.ts';
import type { Broker, SeenAnswer } from './broker.ts';
import { type CallConfinement, type Destination, destinationOf } from './destination.ts';
import { escalatedEnvironment, withoutInterception } from './escalated-environment.ts';
import type { ExecRequest } from './exec-request.ts';
import { isSame } from './file-identity.ts';
import { answerToSeen, type Judgement, judge } from './judgement.ts';
import { tracePath } from './path-trace.ts';
import { type AskEscalation, type EscalationQuestion, type EscalationReply, escalationQuestion } from './question.ts';

/** The settings that decide about every exec of a call. */
export interface ExecSettings {
  readonly rules: Policy;
  readonly preserveProgramPaths: boolean;
  /** Undefined where nothing confines the call. */
  readonly confinement: CallConfinement | undefined;
  /** The server's own variables. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly trustEnvironment: boolean;
  readonly log: Logger;
}

export interface ExecDeciderOptions {
  readonly settings: ExecSettings;
  readonly broker: Broker;
  /** Undefined when no user can be asked. */
  readonly ask: AskEscalation | undefined;
  /** Called when the user is asked; the result is disposed of when the answer is there. */
  readonly onQuestion: () => Disposable;
  /** The first argument of the exec that follows the start-up files of a login shell; undefined without such files. */
  readonly startMarker: string | undefined;
  /** Aborts when the call is over: open questions are withdrawn. */
  readonly signal: AbortSignal;
}

export const CANNOT_ASK = 'approval required but the client cannot be asked';

/** Decides about the execs of one call, and tells the broker. */
export class ExecDecider {
  readonly #options: ExecDeciderOptions;
  readonly #questions = new Map<number, AbortController>();
  /** Whether the script of the call runs, after the start-up files of a login shell. */
  #hasStarted: boolean;
  #deniedCount = 0;

  constructor(options: ExecDeciderOptions) {
    this.#options = options;
    this.#hasStarted = options.startMarker === undefined;
  }

  /** How many execs were denied. */
  get deniedCount(): number {
    return this.#deniedCount;
  }

  /** Decides by the absolute path and the arguments alone, as most execs need no more. */
  answerSeen(path: string, argv: readonly string[]): SeenAnswer {
    if (!this.#hasStarted) return 'inspect';
    const { settings } = this.#options;
    return answerToSeen(settings.rules, posix.resolve(path), argv.slice(1), settings);
  }

  async answer(request: ExecRequest): Promise<void> {
    if (!this.#hasStarted && request.argv[1] === this.#options.startMarker) {
      this.#hasStarted = true;
      return this.#options.broker.deny(request.id);
    }
    const path = posix.resolve(request.workdir, request.file);
    const judgement = await this.#judge(request, path);
    if (judgement.decision === 'forbidden') return this.#deny(request, forbidden(judgement));
    const destination = this.#destination(request, judgement);
    if (judgement.decision === 'prompt') {
      if (!this.#hasStarted) return this.#options.broker.run(request.id);
      const refusal = await this.#consent(request, path, judgement, destination);
      if (this.#options.signal.aborted) return;
      if (refusal !== undefined) return this.#deny(request, refusal);
      return this.#startAsAsked(request, judgement, destination);
    }
    return this.#start(request, destination);
  }

  /** A rule that allows git does not allow the programs that a repository's configuration names: the user is asked about them. */
  async #judge(request: ExecRequest, path: string): Promise<Judgement> {
    const { settings, ask } = this.#options;
    const judgement = judge(settings.rules, path, request.argv.slice(1), settings);
    if (judgement.decision !== 'allow' || !judgement.byRule || !settings.confinement) return judgement;
    const { writable } = settings.confinement;
    const words = [path, ...request.argv.slice(1)];
    const hazard = await gitCallHazard(words, {
      cwd: request.workdir,
      variables: settings.environment,
      isWritable: (at) => writable.has(at),
    });
    if (hazard === undefined) return judgement;
    if (ask) return { ...judgement, decision: 'prompt', justification: hazard };
    settings.log.warn('exec.kept_inside', { file: request.file, reason: hazard });
    return { ...judgement, byRule: false };
  }

  /** Withdraws the question about an exec whose process has ended. */
  withdraw(id: number): void {
    this.#questions.get(id)?.abort(new Error('the command that asked is gone'));
  }

  /** Asks the user: undefined is consent, a text is the reason why the exec is denied. */
  async #consent(
    request: ExecRequest,
    path: string,
    judgement: Judgement,
    destination: Destination,
  ): Promise<string | undefined> {
    const { ask, onQuestion, signal } = this.#options;
    if (!ask) return CANNOT_ASK;
    const withdrawn = new AbortController();
    using _withdrawing = onAbort(signal, (reason) => withdrawn.abort(reason));
    this.#questions.set(request.id, withdrawn);
    using _ = onQuestion();
    try {
      return refusal(await ask(this.#question(request, path, judgement, destination), withdrawn.signal));
    } catch (error) {
      this.#options.settings.log.warn('question.failed', { message: (error as Error).message });
      return CANNOT_ASK;
    } finally {
      this.#questions.delete(request.id);
    }
  }

  #question(
    request: ExecRequest,
    path: string,
    { justification }: Judgement,
    destination: Destination,
  ): EscalationQuestion {
    const leaves = destination.kind === 'outside' && this.#options.settings.confinement !== undefined;
    return escalationQuestion({
      path: exactPath(request, path),
      args: request.exact.argv.slice(1),
      workdir: request.exact.workdir,
      realWorkdir: tracePath(request.workdir)?.real,
      real: destination.kind === 'unruled' ? undefined : destination.real,
      justification,
      outside: leaves,
      changed: leaves ? this.#environment(request).changed : [],
    });
  }

  /** Starts what the user was shown: nothing leaves the sandbox that was to stay, and nothing runs in another directory. */
  #startAsAsked(request: ExecRequest, judgement: Judgement, asked: Destination): Promise<void> {
    if (asked.kind !== 'outside') return this.#start(request, asked);
    const now = this.#destination(request, judgement);
    if (now.kind !== 'outside') return this.#start(request, now);
    if (!isSame(now.pins.workdir, asked.pins.workdir)) {
      return this.#deny(request, `the working directory ${request.workdir} has been replaced since the question`);
    }
    const isSameProgram = asked.pins.program === undefined || isSame(now.pins.program, asked.pins.program);
    const swapped = { kind: 'inside', real: now.real, reason: 'it was replaced during the question' } as const;
    return this.#start(request, isSameProgram ? asked : swapped);
  }

  #start(request: ExecRequest, destination: Destination): Promise<void> {
    const { broker, settings } = this.#options;
    if (destination.kind === 'outside') {
      const command = { ...request.exact, env: this.#environment(request).env };
      return broker.escalate(request.id, command, destination.pins);
    }
    if (destination.kind === 'inside') {
      settings.log.warn('exec.kept_inside', { file: request.file, reason: destination.reason });
    }
    return broker.run(request.id);
  }

  #destination(request: ExecRequest, { byRule, ruleNamesPath }: Judgement): Destination {
    return byRule ? destinationOf(request, this.#options.settings.confinement, ruleNamesPath) : { kind: 'unruled' };
  }

  #environment({ exact }: ExecRequest): { env: readonly Buffer[]; changed: readonly string[] } {
    const { confinement, environment, trustEnvironment } = this.#options.settings;
    if (!confinement || trustEnvironment) return { env: withoutInterception(exact.env), changed: [] };
    return escalatedEnvironment(exact, environment, confinement.writable);
  }

  #deny({ id }: ExecRequest, reason: string): Promise<void> {
    this.#deniedCount++;
    return this.#options.broker.deny(id, reason);
  }
}

/** The judged path; its bytes where they are not UTF-8, so that the question shows them. */
function exactPath({ exact: { file, workdir } }: ExecRequest, path: string): string | Buffer {
  const bytes = file[0] === SLASH ? file : Buffer.concat([workdir, Buffer.from('/'), file]);
  return Buffer.from(bytes.toString()).equals(bytes) ? path : bytes;
}

const SLASH = 0x2f;

function forbidden({ justification }: Judgement): string {
  return `Execution forbidden by policy${justification === undefined ? '' : `: ${justification}`}`;
}

function refusal({ action, reason }: EscalationReply): string | undefined {
  if (action === 'accept') return undefined;
  const said = reason?.trim() ? `: ${reason.trim()}` : '';
  return action === 'cancel' ? 'User cancelled execution' : `User declined execution${said}`;
}
