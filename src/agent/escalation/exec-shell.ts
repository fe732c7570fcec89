import { Deadline, type Logger, Scope } from '../../base/index.ts';
import { nextOwnMark, ownServerNumber, startGuardian } from '../../host/os/index.ts';
import { hasFullRead, isNarrower, type Policy, type SandboxHost } from '../../host/sandbox/index.ts';
import { ExecError, type Sandbox } from '../../protocol/index.ts';
import type { Policy as Judge, Rules } from '../rules/index.ts';
import type { Gate } from './gatekeeper.ts';
import { placesOn } from './path-trace.ts';
import type { Ask } from './question.ts';
import { ShellCall, type ShellOutcome } from './shell-call.ts';
import { launchShell, policyOf, type ShellPrograms } from './shell-launch.ts';
import { PlaceMemory } from './writable-places.ts';

export interface ExecShellOptions {
  readonly sandboxes: SandboxHost;
  readonly programs: ShellPrograms;
  readonly rules: Rules;
  /** Files and folders the rules come from, absolute. */
  readonly rulesFrom?: readonly string[];
  /** What commands get to see; nothing that is the server's own business. */
  readonly environment: Readonly<Record<string, string>>;
  readonly preserveProgramPaths?: boolean;
  /** Gives programs outside the sandbox the variables of their callers, whatever those mean to them. */
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
  readonly ask: Ask | undefined;
  readonly signal: AbortSignal;
}

/** Calls at once; each has processes of its own. */
const MOST_CALLS = 64;

/** Runs scripts in sandboxes; what the rules allow, or the user, gets out of them. */
export class ExecShell implements AsyncDisposable {
  readonly #options: ExecShellOptions;
  readonly #scope = new Scope();
  readonly #stop = new AbortController();
  readonly #places = new PlaceMemory();
  readonly #running = new Set<Promise<unknown>>();
  #rules: Judge | undefined;

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
      () => undefined, // the caller hears of it
    );
    this.#running.add(settled);
    void settled.then(() => this.#running.delete(settled));
    return call;
  }

  /** Whether calls in one sandbox could do nothing that they could not do in another. */
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
    const gate = await this.#gate(policy);
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
    return await ShellCall.run({ launch, gate, mark, timeoutMs, ask, signal: stop.signal, log });
  }

  /** The rules are those of the moment the call begins. */
  async #gate(policy: Policy): Promise<Gate> {
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

  /** Rules that commands could have written since they were read are not read again. */
  async #currentRules(): Promise<Judge> {
    const { rules, rulesFrom = [], log } = this.#options;
    const reached = rulesFrom.find((path) => placesOn(path).some((place) => this.#places.has(place)));
    if (this.#rules && reached !== undefined)
      log.info('rules.kept', { path: reached, reason: 'commands can write it' });
    else this.#rules = await rules.current();
    return this.#rules;
  }

  #confinement(policy: Policy): Gate['confinement'] {
    if (policy.unrestricted && policy.network === 'enabled') return undefined;
    return { places: this.#places.with(policy), hides: !hasFullRead(policy) };
  }
}
