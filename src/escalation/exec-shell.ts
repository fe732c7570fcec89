import { Deadline, type Logger, Scope } from '../base/index.ts';
import { familyMark, SERVER_MASK, startGuardian } from '../os/index.ts';
import { ExecError, type Sandbox } from '../protocol/index.ts';
import type { Rules } from '../rules/index.ts';
import type { Policy } from '../sandbox/index.ts';
import type { Gate } from './gatekeeper.ts';
import type { Ask } from './question.ts';
import { ShellCall, type ShellOutcome } from './shell-call.ts';
import { launchShell, policyOf, type ShellPrograms } from './shell-launch.ts';
import { WritablePlaces } from './writable-places.ts';

export interface ExecShellOptions {
  readonly programs: ShellPrograms;
  readonly rules: Rules;
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
  readonly ask: Ask | undefined;
  readonly signal: AbortSignal;
}

/** Calls at once; each has processes of its own. */
const MOST_CALLS = 64;
/** The number of a session that no session has. */
const SHELL_CALLS = -2;

/** Runs scripts in sandboxes; what the rules allow, or the user, gets out of them. */
export class ExecShell implements AsyncDisposable {
  readonly #options: ExecShellOptions;
  readonly #scope = new Scope();
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #calls = 0;

  private constructor(options: ExecShellOptions) {
    this.#options = options;
  }

  static async open(options: ExecShellOptions): Promise<ExecShell> {
    const shell = new ExecShell(options);
    shell.#scope.own(await startGuardian(familyMark(process.pid, 0, 0), SERVER_MASK));
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

  /** Ends every call. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await Promise.all(this.#running);
    await this.#scope[Symbol.asyncDispose]();
  }

  async #run({ sandbox, workdir, command, login, timeoutMs, ask, signal }: ShellRequest): Promise<ShellOutcome> {
    const { programs, environment, log } = this.#options;
    const policy = policyOf(sandbox, workdir, environment.TMPDIR);
    const gate = await this.#gate(policy);
    const launch = launchShell({ ...programs, command, workdir, login, policy, environment });
    using _ = launch.confined.claim;
    const mark = familyMark(process.pid, SHELL_CALLS, this.#calls++);
    using stop = new Deadline(undefined, signal, this.#stop.signal);
    return await ShellCall.run({ launch, gate, mark, timeoutMs, ask, signal: stop.signal, log });
  }

  /** The rules are those of the moment the call begins. */
  async #gate(policy: Policy): Promise<Gate> {
    const { rules, environment, preserveProgramPaths = false, trustEscalatedEnvironment = false, log } = this.#options;
    return {
      rules: await rules.current(),
      preserveProgramPaths,
      confinement: confinementOf(policy),
      environment,
      trustEnvironment: trustEscalatedEnvironment,
      log,
    };
  }
}

function confinementOf(policy: Policy): Gate['confinement'] {
  if (policy.unrestricted && policy.network === 'enabled') return undefined;
  const hides = policy.deniedGlobs.length > 0 || policy.rules.some(({ access }) => access === 'deny');
  return { places: new WritablePlaces(policy), hides };
}
