import { quoted } from '../../../base/index.ts';
import { ConnectionLost } from '../../../client/index.ts';
import { type EnvironmentInfo, ExecError } from '../../../protocol/index.ts';
import { type AttemptOptions, actionsOf, Cancelled, type CommandRequest, Rejected } from '../../approval/index.ts';
import type { ExecCommandArguments } from '../arguments/tool-arguments.ts';
import { type CallContext, callResult, type ToolContext } from '../call-context.ts';
import { interceptPatch } from '../changes/patch-interception.ts';
import { type CommandPlan, planCommand } from '../plan/command-plan.ts';
import { canPin, directoryIdentity } from '../plan/directory-identity.ts';
import { CommandItem } from '../report/command-item.ts';
import { ToolError, type ToolResult } from '../report/tool-result.ts';
import { CommandAttempt } from './command-attempt.ts';
import type { NetworkQuestion } from './network-questions.ts';
import { startYieldMs } from './yield-window.ts';

/** Runs a command until it ends or its window closes. */
export async function execCommand(
  toolContext: ToolContext,
  args: ExecCommandArguments,
  context: CallContext,
): Promise<ToolResult> {
  const plan = await planCommand(args, toolContext);
  const patched = await interceptPatch(plan, toolContext, context);
  if (patched) return patched;
  const call = new ExecCommandCall(toolContext, plan, context);
  return call.run(startYieldMs(args.yield_time_ms, plan.info?.platformOs), args.max_output_tokens);
}

class ExecCommandCall {
  readonly #toolContext: ToolContext;
  readonly #plan: CommandPlan;
  readonly #context: CallContext;
  readonly #request: CommandRequest;
  readonly #item: CommandItem;
  readonly #sessionId: number;
  #attempt: CommandAttempt | undefined;

  constructor(toolContext: ToolContext, plan: CommandPlan, context: CallContext) {
    const { callId = crypto.randomUUID(), turnId } = context;
    const { environmentId, argv, cwd, tty, wishes, info } = plan;
    const home = homeOf(info);
    this.#toolContext = toolContext;
    this.#plan = plan;
    this.#context = context;
    const turn = turnId === undefined ? {} : { turnId };
    this.#request = {
      callId,
      ...turn,
      environmentId,
      argv,
      cwd,
      tty,
      ...(home !== undefined && { home }),
      ...wishes,
    };
    this.#item = new CommandItem(
      {
        call_id: callId,
        ...(turnId !== undefined && { turn_id: turnId }),
        command: argv,
        cwd,
        parsed_cmd: actionsOf(argv, cwd),
      },
      (event) => toolContext.events.emit(event),
    );
    this.#sessionId = toolContext.sessions.reserve();
  }

  async run(yieldMs: number, askedTokens: number | undefined): Promise<ToolResult> {
    try {
      const attempt = await this.#orchestrate((options) => this.#try(options, yieldMs));
      return this.#report(attempt, askedTokens);
    } catch (error) {
      throw this.#failure(error);
    } finally {
      if (!this.#toolContext.sessions.get(this.#sessionId)) this.#toolContext.sessions.free(this.#sessionId);
      this.#attempt?.[Symbol.dispose]();
    }
  }

  async #orchestrate(attempt: (options: AttemptOptions) => Promise<CommandAttempt>): Promise<CommandAttempt> {
    const { orchestrator } = this.#toolContext;
    if (!orchestrator) return attempt({ sandboxed: true, number: 1 });
    const { value } = await orchestrator.run(
      this.#request,
      async (options) => {
        const value = await attempt(options);
        return { kind: value.isDenied ? 'denied' : 'done', value };
      },
      {
        onQuestion: () => this.#item.asked(),
        ...(canPin(this.#plan) && { identify: () => directoryIdentity(this.#plan) }),
        ...(this.#context.signal && { signal: this.#context.signal }),
      },
    );
    return value;
  }

  async #try({ sandboxed, directory, byRule = false }: AttemptOptions, yieldMs: number): Promise<CommandAttempt> {
    this.#attempt?.giveUp();
    this.#attempt?.[Symbol.dispose]();
    const attempt = new CommandAttempt(this.#toolContext, this.#plan, this.#item, {
      sessionId: this.#sessionId,
      callId: this.#request.callId,
      sandboxed,
      byRule,
      directory,
      yieldMs,
      judge: (question, signal) => this.#judge(question, signal),
    });
    this.#attempt = attempt;
    await attempt.run(this.#context);
    return attempt;
  }

  async #judge({ host, port, protocol }: NetworkQuestion, signal: AbortSignal): Promise<boolean> {
    const { callId, turnId, environmentId, argv, cwd } = this.#request;
    const request = { callId, ...(turnId !== undefined && { turnId }), environmentId, host, port, protocol, argv, cwd };
    return (await this.#toolContext.orchestrator?.approveNetwork(request, { signal })) === 'allow';
  }

  #report(attempt: CommandAttempt, askedTokens: number | undefined): ToolResult {
    const { process, collected, wallTimeMs } = attempt;
    attempt.announce();
    const { isOver, facts } = process;
    if (isOver) attempt.conclude();
    if (facts.failureMessage !== undefined) {
      throw new ToolError(`exec_command failed: ProcessFailed { message: ${quoted(facts.failureMessage)} }`);
    }
    const end = isOver ? { exitCode: facts.exitCode } : { sessionId: this.#sessionId };
    return callResult({ wallTimeMs, ...end }, collected, askedTokens, this.#toolContext.modelOutputTokens);
  }

  /** The error text for the model. The item of the command, if it was begun, ends with it. */
  #failure(error: unknown): unknown {
    const isRefusal = error instanceof Rejected || error instanceof Cancelled;
    const failure = toolError(error);
    if (isRefusal) this.#attempt?.forget();
    const reason = isRefusal ? error.message : String((failure as Error).message);
    this.#item.neverRan(isRefusal ? 'declined' : 'failed', reason);
    return failure;
  }
}

function homeOf(info: EnvironmentInfo | undefined): string | undefined {
  try {
    const path = info?.userHomeDir?.toNative();
    return typeof path === 'string' ? path : undefined;
  } catch {
    return undefined; // on a machine of another kind, where other files are read
  }
}

/** Mistakes of ours and the end of a turn are no news for the model: they stay what they are. */
function toolError(error: unknown): unknown {
  if (error instanceof Rejected) {
    return error.kind === 'escalation' ? new ToolError(error.message) : notCreated(error.message);
  }
  if (error instanceof ExecError) {
    const reason = `exec-server rejected request (${error.toWire().code}): ${error.message}`;
    return notCreated(`Failed to create unified exec process: ${reason}`);
  }
  if (error instanceof ConnectionLost) return notCreated(`Failed to create unified exec process: ${error.message}`);
  return error;
}

/** Two errors, one around the other, each in its debug form. */
function notCreated(reason: string): ToolError {
  return new ToolError(`exec_command failed: CreateProcess { message: ${quoted(`Rejected(${quoted(reason)})`)} }`);
}
