import { posix } from 'node:path';
import { type Logger, onAbort } from '../../base/index.ts';
import { gitCallHazard, type Policy as Rules } from '../rules/index.ts';
import type { Broker, Passage } from './broker.ts';
import { type Confinement, type Destination, destinationOf } from './destination.ts';
import { escalatedEnvironment, withoutInterception } from './escalated-environment.ts';
import type { ExecRequest } from './exec-request.ts';
import { isSame } from './file-identity.ts';
import { type Judgement, judge, passage } from './judgement.ts';
import { tracePath } from './path-trace.ts';
import { type Ask, question, type Reply } from './question.ts';

/** The settings for every exec of a call. */
export interface Gate {
  readonly rules: Rules;
  readonly preserveProgramPaths: boolean;
  /** Undefined where nothing confines the call: then there is nothing to be careful about. */
  readonly confinement: Confinement | undefined;
  /** The server's own variables. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly trustEnvironment: boolean;
  readonly log: Logger;
}

export interface GatekeeperOptions {
  readonly gate: Gate;
  readonly broker: Broker;
  /** Undefined when no user can be asked. */
  readonly ask: Ask | undefined;
  /** Called when a question is put; disposed of when it is answered. */
  readonly onQuestion: () => Disposable;
  /** The one exec that marks the end of the shell's own start-up, if there is one. */
  readonly beginning: string | undefined;
  /** Aborts when nothing is to be answered any more. */
  readonly signal: AbortSignal;
}

export const CANNOT_ASK = 'approval required but the client cannot be asked';

/** Answers the execs of one call. */
export class Gatekeeper {
  readonly #options: GatekeeperOptions;
  readonly #questions = new Map<number, AbortController>();
  /** Whether the text of the call is being executed, and not the start-up files of a login shell. */
  #begun: boolean;
  #denials = 0;

  constructor(options: GatekeeperOptions) {
    this.#options = options;
    this.#begun = options.beginning === undefined;
  }

  /** How many execs were denied. */
  get denials(): number {
    return this.#denials;
  }

  /** Whether an absolute path runs where it is with these arguments, whatever else there is to know. */
  passes(path: string, argv: readonly string[]): Passage {
    if (!this.#begun) return 'no';
    const { gate } = this.#options;
    return passage(gate.rules, posix.resolve(path), argv.slice(1), gate);
  }

  async answer(request: ExecRequest): Promise<void> {
    if (!this.#begun && request.argv[1] === this.#options.beginning) {
      this.#begun = true;
      return this.#options.broker.deny(request.id);
    }
    const path = posix.resolve(request.workdir, request.file);
    const judgement = await this.#judge(request, path);
    if (judgement.decision === 'forbidden') return this.#deny(request, forbidden(judgement));
    const destination = this.#destination(request, judgement);
    if (judgement.decision === 'prompt') {
      if (!this.#begun) return this.#options.broker.run(request.id);
      const refusal = await this.#consent(request, path, judgement, destination);
      if (this.#options.signal.aborted) return;
      if (refusal !== undefined) return this.#deny(request, refusal);
      return this.#startAsAsked(request, judgement, destination);
    }
    return this.#start(request, destination);
  }

  /** A rule for git does not speak for the programs that a repository names: about those the user is asked. */
  async #judge(request: ExecRequest, path: string): Promise<Judgement> {
    const { gate, ask } = this.#options;
    const judgement = judge(gate.rules, path, request.argv.slice(1), gate);
    if (judgement.decision !== 'allow' || !judgement.byRule || !gate.confinement) return judgement;
    const { places } = gate.confinement;
    const words = [path, ...request.argv.slice(1)];
    const hazard = await gitCallHazard(words, {
      cwd: request.workdir,
      variables: gate.environment,
      isWritable: (at) => places.has(at),
    });
    if (hazard === undefined) return judgement;
    if (ask) return { ...judgement, decision: 'prompt', justification: hazard };
    gate.log.warn('exec.kept_inside', { file: request.file, reason: hazard });
    return { ...judgement, byRule: false };
  }

  /** The asker has vanished, so that its question, if any, is void. */
  withdraw(id: number): void {
    this.#questions.get(id)?.abort(new Error('the command that asked is gone'));
  }

  /** Undefined when the user agrees, else why the exec is denied. */
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
      this.#options.gate.log.warn('question.failed', { message: (error as Error).message });
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
  ): ReturnType<typeof question> {
    const leaves = destination.kind === 'outside' && this.#options.gate.confinement !== undefined;
    return question({
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

  /** What the user agreed to is what was shown: nothing leaves that was to stay, and nothing runs in another directory. */
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
    const { broker, gate } = this.#options;
    if (destination.kind === 'outside') {
      const command = { ...request.exact, env: this.#environment(request).env };
      return broker.escalate(request.id, command, destination.pins);
    }
    if (destination.kind === 'inside') {
      gate.log.warn('exec.kept_inside', { file: request.file, reason: destination.reason });
    }
    return broker.run(request.id);
  }

  #destination(request: ExecRequest, { byRule, namesPath }: Judgement): Destination {
    return byRule ? destinationOf(request, this.#options.gate.confinement, namesPath) : { kind: 'unruled' };
  }

  #environment({ exact }: ExecRequest): { env: readonly Buffer[]; changed: readonly string[] } {
    const { confinement, environment, trustEnvironment } = this.#options.gate;
    if (!confinement || trustEnvironment) return { env: withoutInterception(exact.env), changed: [] };
    return escalatedEnvironment(exact, environment, confinement.places);
  }

  #deny({ id }: ExecRequest, reason: string): Promise<void> {
    this.#denials++;
    return this.#options.broker.deny(id, reason);
  }
}

/** The path that is judged, unless that is only what could be read of its bytes. */
function exactPath({ exact: { file, workdir } }: ExecRequest, path: string): string | Buffer {
  const bytes = file[0] === SLASH ? file : Buffer.concat([workdir, Buffer.from('/'), file]);
  return Buffer.from(bytes.toString()).equals(bytes) ? path : bytes;
}

const SLASH = 0x2f;

function forbidden({ justification }: Judgement): string {
  return `Execution forbidden by policy${justification === undefined ? '' : `: ${justification}`}`;
}

function refusal({ action, reason }: Reply): string | undefined {
  if (action === 'accept') return undefined;
  const said = reason?.trim() ? `: ${reason.trim()}` : '';
  return action === 'cancel' ? 'User cancelled execution' : `User declined execution${said}`;
}
