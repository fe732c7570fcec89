import { quoted } from '../../../base/index.ts';
import { ConnectionLost } from '../../../client/index.ts';
import { type EnvironmentInfo, ExecError } from '../../../protocol/index.ts';
import { type AttemptOptions, actionsOf, Cancelled, type CommandRequest, Rejected } from '../../approval/index.ts';
import type { ExecCommandArguments } from '../arguments/tool-arguments.ts';
import type { NetworkQuestion } from '../backends/network-questions.ts';
import type { CallContext, ToolContext } from '../call-context.ts';
import { interceptPatch } from '../changes/patch-interception.ts';
import { type CommandPlan, planCommand } from '../plan/command-plan.ts';
import { canPin, directoryIdentity } from '../plan/directory-identity.ts';
import { CommandItem } from '../report/command-item.ts';
import { callResult } from '../report/response.ts';
import { ToolError, type ToolResult } from '../report/tool-result.ts';
import { CommandAttempt } from './command-attempt.ts';
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
    const { environmentId, argv, cwd, tty, sandboxRequest, info } = plan;
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
      ...sandboxRequest,
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
      const attempt = await this.#orchestrate((options) => this.#runAttempt(options, yieldMs));
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
        onQuestion: () => this.#item.announceQuestion(),
        ...(canPin(this.#plan) && { identify: () => directoryIdentity(this.#plan) }),
        ...(this.#context.signal && { signal: this.#context.signal }),
      },
    );
    return value;
  }

  async #runAttempt(
    { sandboxed, directory, byRule = false }: AttemptOptions,
    yieldMs: number,
  ): Promise<CommandAttempt> {
    this.#attempt?.giveUp();
    this.#attempt?.[Symbol.dispose]();
    const attempt = new CommandAttempt(this.#toolContext, this.#plan, this.#item, {
      sessionId: this.#sessionId,
      callId: this.#request.callId,
      sandboxed,
      byRule,
      directory,
      yieldMs,
      judge: (question, signal) => this.#mayConnect(question, signal),
    });
    this.#attempt = attempt;
    await attempt.run(this.#context);
    return attempt;
  }

  async #mayConnect({ host, port, protocol }: NetworkQuestion, signal: AbortSignal): Promise<boolean> {
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

  /** Makes the error for the model, and ends a command that was announced but never ran. */
  #failure(error: unknown): unknown {
    const isRefusal = error instanceof Rejected || error instanceof Cancelled;
    const failure = toolError(error);
    if (isRefusal) this.#attempt?.forget();
    const reason = isRefusal ? error.message : String((failure as Error).message);
    this.#item.endUnrun(isRefusal ? 'declined' : 'failed', reason);
    return failure;
  }
}

function homeOf(info: EnvironmentInfo | undefined): string | undefined {
  try {
    const path = info?.userHomeDir?.toNative();
    return typeof path === 'string' ? path : undefined;
  } catch {
    return undefined; // a path of another operating system, whose shells read other files
  }
}

/** Refusals and errors of the server become texts for the model; cancellation and unexpected errors stay what they are. */
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

/** The debug form of the reference's error, which contains another one. */
function notCreated(reason: string): ToolError {
  return new ToolError(`exec_command failed: CreateProcess { message: ${quoted(`Rejected(${quoted(reason)})`)} }`);
}
