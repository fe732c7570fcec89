import type { Rules } from '../rules/index.ts';
import type { ApprovalAnswer, ApprovalRequest, Approver } from './approver.ts';
import { type ChangeRequest, changedPaths, changeQuestion, reviewChanges } from './change-review.ts';
import { commandQuestion } from './command-question.ts';
import { type CommandRequest, isConfined, mayLeaveSandbox } from './command-request.ts';
import { gitCaution } from './git-caution.ts';
import { homeCaution } from './home-caution.ts';
import { type InputRequest, inputQuestion, inputRefusal, needsReview } from './input-review.ts';
import { localDirectoryIdentity } from './local-directory.ts';
import { NetworkApprovals, type NetworkRequest } from './network-approvals.ts';
import { type ApprovalPolicy, mayAsk } from './policy.ts';
import { programCaution } from './program-caution.ts';
import { additionalRefusal, DECLINED, escalationRefusal, RETRY_QUESTION, replacedRefusal } from './refusal-texts.ts';
import { Cancelled, Rejected } from './rejection.ts';
import { type Requirement, requirementFor } from './requirement.ts';
import { commandKey, fileKey, SessionApprovals } from './session-approvals.ts';
import { untilAborted } from './until-aborted.ts';

/** How the orchestrator wants a command to be run. */
export interface AttemptOptions {
  readonly sandboxed: boolean;
  readonly number: 1 | 2;
  /** Rules let the command leave the sandbox: its names must not resolve to programs that commands can write. */
  readonly byRule?: boolean;
  /** The identity of the directory that the user was asked about: the command may start in no other. */
  readonly directory?: string | undefined;
}

/** `denied`: the sandbox refused something; the value is the result if there is no second attempt. */
export type AttemptOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'denied'; readonly value: T };

export interface RunHooks {
  /** Called when a question begins: callers suspend their time limits. */
  onQuestion?(): void;
  onAnswered?(): void;
  /** Identifies the directory that the command would run in; called before and after a question. */
  identify?(): Promise<string>;
  readonly signal?: AbortSignal;
}

export interface OrchestratorOptions {
  readonly policy: ApprovalPolicy;
  readonly approver: Approver;
  readonly rules: Rules;
  /** The answers accepted for the session; a store of its own unless given. */
  readonly cache?: SessionApprovals;
  /** Called when a rule could not be written. The answer holds once all the same. */
  readonly onProblem?: (error: Error) => void;
}

/** Decides whether commands may run, asks the user if necessary, and runs them: at most twice, the second time without sandbox. */
export class Orchestrator {
  readonly #policy: ApprovalPolicy;
  readonly #approver: Approver;
  readonly #rules: Rules;
  readonly #cache: SessionApprovals;
  readonly #network: NetworkApprovals;
  readonly #onProblem: (error: Error) => void;

  constructor(options: OrchestratorOptions) {
    const { policy, approver, rules, cache = new SessionApprovals(), onProblem = () => {} } = options;
    this.#policy = policy;
    this.#approver = approver;
    this.#rules = rules;
    this.#cache = cache;
    this.#onProblem = onProblem;
    this.#network = new NetworkApprovals({ policy, approver, rules, onProblem });
  }

  /** The refusal of a call that asks to leave the sandbox under a policy that forbids asking; undefined under others. */
  get escalationRefusal(): string | undefined {
    return mayAsk(this.#policy, 'sandbox_approval') ? undefined : escalationRefusal(this.#policy);
  }

  /** The refusal of a call that asks for additional permissions within the sandbox; undefined where that may be asked. */
  get additionalRefusal(): string | undefined {
    return this.#policy === 'on-request' ? undefined : additionalRefusal(this.#policy);
  }

  /** Throws `Rejected` or `Cancelled` when the command may not run. */
  async run<T>(
    request: CommandRequest,
    attempt: (options: AttemptOptions) => Promise<AttemptOutcome<T>>,
    hooks: RunHooks = {},
  ): Promise<{ value: T; sandboxed: boolean }> {
    const { requirement, directory } = await this.#permit(request, hooks);
    const sandboxed = startsSandboxed(request, requirement);
    const byRule = !sandboxed && requirement.kind === 'skip' && isConfined(request.confinement);
    const first = await attempt({ sandboxed, number: 1, directory, ...(byRule && { byRule }) });
    if (first.kind === 'done' || !sandboxed || !this.#mayRetry(request)) return { value: first.value, sandboxed };
    const directoryAsked =
      requirement.kind === 'skip'
        ? await this.#approve(request, { ...requirement, reason: RETRY_QUESTION }, hooks)
        : directory;
    const second = await attempt({ sandboxed: false, number: 2, directory: directoryAsked });
    return { value: second.value, sandboxed: false };
  }

  /** Resolves when text may be typed; throws `Rejected` or `Cancelled` otherwise. */
  async approveInput(request: InputRequest, hooks: RunHooks = {}): Promise<void> {
    if (!needsReview(request)) return;
    const refusal = inputRefusal(request, this.#policy);
    if (refusal !== undefined) throw new Rejected('policy', refusal);
    requireAccepted(await this.#ask(inputQuestion(request), hooks));
  }

  /** Resolves when files may be changed; throws `Rejected` or `Cancelled` otherwise. */
  async approveChanges(request: ChangeRequest, hooks: RunHooks = {}): Promise<void> {
    const review = reviewChanges(request, this.#policy, await this.#rules.current());
    if (review.kind === 'forbid') throw new Rejected('policy', review.reason);
    const key = (path: string): string => fileKey(request.environmentId, path);
    if (review.kind === 'skip' || review.paths.every((path) => this.#cache.has(key(path)))) return;
    const decision = requireAccepted(await this.#ask(changeQuestion(request, review.reason), hooks));
    if (decision === 'acceptForSession') for (const path of changedPaths(request.changes)) this.#cache.add(key(path));
  }

  /** Decides whether a command may connect to a host. Equal questions at the same time are asked once. */
  approveNetwork(request: NetworkRequest, hooks: RunHooks = {}): Promise<'allow' | 'deny'> {
    return this.#network.decide(request, hooks.signal);
  }

  async #permit(request: CommandRequest, hooks: RunHooks): Promise<Permit> {
    const requirement = requirementFor(request, this.#policy, await this.#rules.current());
    if (requirement.kind === 'forbid') throw new Rejected(requirement.cause, requirement.reason);
    if (requirement.kind === 'ask') {
      return { requirement, directory: await this.#approve(request, requirement, hooks) };
    }
    if (!requirement.bypassesSandbox || !isConfined(request.confinement)) return { requirement };
    const caution = homeCaution(request) ?? programCaution(request) ?? (await gitCaution(request));
    return caution === undefined ? { requirement } : this.#permitCautiously(request, requirement, caution, hooks);
  }

  /** A command that could run programs no rule knows: the user is asked, or it stays in the sandbox where that is not allowed. */
  async #permitCautiously(
    request: CommandRequest,
    requirement: Requirement,
    reason: string,
    hooks: RunHooks,
  ): Promise<Permit> {
    if (!mayAsk(this.#policy, 'rules')) {
      return { requirement: { ...requirement, kind: 'skip', bypassesSandbox: false } };
    }
    return { requirement, directory: await this.#approve(request, { reason }, hooks) };
  }

  /** Asks the user; returns the identity of the directory asked about, undefined where it is unknown or the answer was remembered. */
  async #approve(
    request: CommandRequest,
    { reason, proposedRule }: { readonly reason?: string; readonly proposedRule?: readonly string[] },
    hooks: RunHooks,
  ): Promise<string | undefined> {
    const key = commandKey(request);
    if (this.#cache.has(key)) return undefined;
    const identify = async () => (hooks.identify ? hooks.identify() : localDirectoryIdentity(request));
    const directory = await identify();
    const decision = requireAccepted(await this.#ask(commandQuestion(request, reason, proposedRule), hooks));
    if ((await identify()) !== directory) throw new Rejected('policy', replacedRefusal(request.cwd));
    if (decision === 'acceptForSession') this.#cache.add(key);
    if (decision === 'acceptWithRule' && proposedRule) {
      await this.#rules.add({ kind: 'prefix', pattern: proposedRule }).catch(this.#onProblem);
    }
    return directory;
  }

  async #ask(question: ApprovalRequest, { onQuestion, onAnswered, signal }: RunHooks): Promise<ApprovalAnswer> {
    if (signal?.aborted) throw new Cancelled();
    onQuestion?.();
    try {
      return await answerOf(this.#approver, question, signal);
    } finally {
      onAnswered?.();
    }
  }

  /** Whether the user is asked after a denial. Under `on-request` the model asks to leave the sandbox itself. */
  #mayRetry({ confinement }: CommandRequest): boolean {
    const asksAboutDenials = this.#policy !== 'on-request' && mayAsk(this.#policy, 'sandbox_approval');
    return asksAboutDenials && mayLeaveSandbox(confinement);
  }
}

/** A command that may run, and the identity of the directory that the user was asked about. */
interface Permit {
  readonly requirement: Requirement;
  readonly directory?: string | undefined;
}

function startsSandboxed({ sandboxPermissions, confinement }: CommandRequest, requirement: Requirement): boolean {
  const mayLeave = requirement.kind === 'skip' && requirement.bypassesSandbox;
  const leaves = sandboxPermissions === 'require_escalated' || mayLeave;
  return isConfined(confinement) && !(leaves && mayLeaveSandbox(confinement));
}

/** The answer, or `cancel` as soon as the caller gives up. An approver that fails counts as a refusal. */
async function answerOf(approver: Approver, question: ApprovalRequest, signal?: AbortSignal): Promise<ApprovalAnswer> {
  try {
    return await untilAborted(approver.ask(question, signal), signal, () => ({ decision: 'cancel' }));
  } catch (error) {
    if (error instanceof Rejected || error instanceof Cancelled) throw error;
    throw new Rejected('policy', `approval could not be asked for: ${(error as Error).message}`);
  }
}

/** Throws unless the user has agreed. */
function requireAccepted({ decision, reason = DECLINED }: ApprovalAnswer): ApprovalAnswer['decision'] {
  if (decision === 'cancel') throw new Cancelled();
  if (decision === 'decline' || decision === 'denyWithRule') throw new Rejected('user', reason);
  return decision;
}
