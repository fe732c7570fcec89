import { Deadline, type Logger, Scope } from '../../base/index.ts';
import { nextOwnMark, ownServerNumber, startGuardian } from '../../host/os/index.ts';
import { type AccessPolicy, hasFullRead, isNarrower, type SandboxHost } from '../../host/sandbox/index.ts';
import { ExecError, type Sandbox } from '../../protocol/index.ts';
import type { Policy, Rules } from '../rules/index.ts';
import type { ExecSettings } from './exec-decider.ts';
import { visitedPaths } from './path-trace.ts';
import type { AskEscalation } from './question.ts';
import { ShellCall, type ShellOutcome } from './shell-call.ts';
import { launchShell, policyOf, type ShellPrograms } from './shell-launch.ts';
import { WritablePathMemory } from './writable-paths.ts';

export interface ExecShellOptions {
  readonly sandboxes: SandboxHost;
  readonly programs: ShellPrograms;
  readonly rules: Rules;
  /** Files and folders the rules come from, absolute. */
  readonly rulesFrom?: readonly string[];
  /** The variables of commands, without those that only the server needs. */
  readonly environment: Readonly<Record<string, string>>;
  readonly preserveProgramPaths?: boolean;
  /** Gives programs outside the sandbox all variables of their callers, harmful ones included. */
  readonly trustEscalatedEnvironment?: boolean;
  readonly log: Logger;
}

export interface ShellRequest {
  readonly command: string;
  /** Absolute. */
  readonly workdir: string;
  readonly timeoutMs: number;
  readonly login: boolean;
  readonly sandbox: Sandbox;
  /** Whether the outcome is to name what the sandbox refused. */
  readonly denials?: boolean;
  readonly ask: AskEscalation | undefined;
  readonly signal: AbortSignal;
}

/** Calls at once; each has processes of its own. */
const MOST_CALLS = 64;

/** Runs scripts in sandboxes; programs that the rules or the user allow run outside. */
export class ExecShell implements AsyncDisposable {
  readonly #options: ExecShellOptions;
  readonly #scope = new Scope();
  readonly #stop = new AbortController();
  readonly #writable = new WritablePathMemory();
  readonly #running = new Set<Promise<unknown>>();
  #rules: Policy | undefined;

  private constructor(options: ExecShellOptions) {
    this.#options = options;
  }

  static async open(options: ExecShellOptions): Promise<ExecShell> {
    const shell = new ExecShell(options);
    shell.#scope.own(await startGuardian(ownServerNumber()));
    return shell;
  }

  async run(request: ShellRequest): Promise<ShellOutcome> {
    if (this.#running.size >= MOST_CALLS) {
      throw new ExecError('invalidRequest', `${MOST_CALLS} calls are under way; wait for one of them to end`);
    }
    const call = this.#run(request);
    const settled = call.then(
      () => undefined,
      () => undefined, // the caller gets the error
    );
    this.#running.add(settled);
    void settled.then(() => this.#running.delete(settled));
    return call;
  }

  /** Whether one sandbox permits nothing that the other does not. */
  isNarrower(sandbox: Sandbox, than: Sandbox, workdir: string): boolean {
    const { TMPDIR } = this.#options.environment;
    return isNarrower(policyOf(sandbox, workdir, TMPDIR), policyOf(than, workdir, TMPDIR));
  }

  /** Ends every call. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await Promise.all(this.#running);
    await this.#scope[Symbol.asyncDispose]();
  }

  async #run({ sandbox, timeoutMs, ask, signal, denials = false, ...script }: ShellRequest): Promise<ShellOutcome> {
    const { sandboxes, programs, environment, rulesFrom = [], log } = this.#options;
    const policy = policyOf(sandbox, script.workdir, environment.TMPDIR);
    const settings = await this.#settingsFor(policy);
    const launch = launchShell({
      ...programs,
      ...script,
      sandboxes,
      ownFiles: rulesFrom,
      policy,
      environment,
      watch: denials,
    });
    using _ = launch.claim;
    const mark = nextOwnMark('shellCalls');
    using stop = new Deadline(undefined, signal, this.#stop.signal);
    return await ShellCall.run({ launch, settings, mark, timeoutMs, ask, signal: stop.signal, log });
  }

  /** The settings of a call, with the rules as they are when it begins. */
  async #settingsFor(policy: AccessPolicy): Promise<ExecSettings> {
    const { environment, preserveProgramPaths = false, trustEscalatedEnvironment = false, log } = this.#options;
    return {
      rules: await this.#currentRules(),
      preserveProgramPaths,
      confinement: this.#confinement(policy),
      environment,
      trustEnvironment: trustEscalatedEnvironment,
      log,
    };
  }

  /** A rules file that a command could have written since is not read again: the rules read before stay in force. */
  async #currentRules(): Promise<Policy> {
    const { rules, rulesFrom = [], log } = this.#options;
    const reached = rulesFrom.find((path) => visitedPaths(path).some((visited) => this.#writable.has(visited)));
    if (this.#rules && reached !== undefined)
      log.info('rules.kept', { path: reached, reason: 'commands can write it' });
    else this.#rules = await rules.current();
    return this.#rules;
  }

  #confinement(policy: AccessPolicy): ExecSettings['confinement'] {
    if (policy.unrestricted && policy.network === 'enabled') return undefined;
    return { writable: this.#writable.with(policy), hidesFiles: !hasFullRead(policy) };
  }
}
