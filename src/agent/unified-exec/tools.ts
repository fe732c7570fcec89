import { Mutex } from '../../base/index.ts';
import type { EnvPolicy } from '../../protocol/index.ts';
import type { Orchestrator } from '../approval/index.ts';
import { ArgumentsError } from './arguments/json-cursor.ts';
import {
  type ExecCommandArguments,
  parseEnvironmentId,
  parseExecCommand,
  parseSessionId,
  parseWriteStdin,
  type WriteStdinArguments,
} from './arguments/tool-arguments.ts';
import { execCommandTool, type ToolDefinition, writeStdinTool } from './arguments/tool-schemas.ts';
import type { CallContext, ToolContext } from './call-context.ts';
import type { ChangeCall } from './changes/change-permission.ts';
import { applyPermittedPatch, type PermittedOutcome, writePermittedFile } from './changes/file-changes.ts';
import { limits } from './limits.ts';
import { defaultEnvPolicy } from './plan/command-environment.ts';
import { selectEnvironment, selectEnvironmentId } from './plan/command-plan.ts';
import type { Environments } from './plan/environments.ts';
import type { EnvironmentSettings } from './plan/permissions.ts';
import { EventStream } from './report/event-stream.ts';
import type { ExecEvent } from './report/exec-event.ts';
import { withinModel } from './report/response.ts';
import { ToolError, type ToolResult } from './report/tool-result.ts';
import { CommandSessions } from './run/command-sessions.ts';
import { EndEvents } from './run/end-events.ts';
import { execCommand } from './run/exec-command.ts';
import { requireSession, writeStdin } from './run/write-stdin.ts';

export interface UnifiedExecOptions {
  /** Where commands can run. The caller disposes of them. */
  readonly environments: Environments;
  /** How commands run in each environment, by its id. */
  readonly settings?: Readonly<Record<string, EnvironmentSettings>>;
  /** Decides which commands may run. Without one, no command leaves its sandbox and the user is not asked. */
  readonly orchestrator?: Orchestrator;
  /** How many tokens of output the model takes at once. */
  readonly modelOutputTokens?: number;
  readonly allowLoginShell?: boolean;
  /** Whether calls may ask for additional permissions within their sandbox. */
  readonly additionalPermissions?: boolean;
  /** How long a `write_stdin` without input may wait at most. */
  readonly backgroundTerminalMaxTimeoutMs?: number;
  readonly envPolicy?: EnvPolicy;
  readonly threadId?: string;
  readonly sessionId?: string;
  /** `CODEX_VERSION` of commands; the version of this package unless given. */
  readonly version?: string;
}

/** A command that outlived the call that started it. */
export interface SessionSummary {
  readonly sessionId: number;
  readonly environmentId: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
  readonly hasExited: boolean;
}

/** Where to change files, and what to tell the user. */
export interface ChangeArguments {
  readonly environment_id?: string | undefined;
  readonly justification?: string | undefined;
}

/** The tools `exec_command` and `write_stdin`, and the sessions of commands that outlive their calls. */
export class UnifiedExec implements AsyncDisposable {
  readonly #toolContext: ToolContext;

  constructor(options: UnifiedExecOptions) {
    this.#toolContext = {
      environments: options.environments,
      settings: options.settings ?? {},
      orchestrator: options.orchestrator,
      modelOutputTokens: options.modelOutputTokens ?? limits.modelOutputTokens,
      allowLoginShell: options.allowLoginShell ?? true,
      additionalPermissions: options.additionalPermissions ?? false,
      longestPollMs: Math.max(options.backgroundTerminalMaxTimeoutMs ?? limits.longestPollMs, limits.shortestPollMs),
      envPolicy: options.envPolicy ?? defaultEnvPolicy,
      threadId: options.threadId,
      sessionId: options.sessionId,
      version: options.version,
      sessions: new CommandSessions(),
      patchMutex: new Mutex(),
      events: new EventStream(),
      endEvents: new EndEvents(),
    };
  }

  /** The tools as a model is told about them, with the parameters that the options permit. */
  tools(): ToolDefinition[] {
    const { allowLoginShell, additionalPermissions, environments, longestPollMs } = this.#toolContext;
    const severalEnvironments = environments.ids.length > 1;
    const features = { allowLoginShell, additionalPermissions, severalEnvironments, longestPollMs };
    return [execCommandTool(features), writeStdinTool(features)];
  }

  /**
   * Carries out a call with the arguments as the model wrote them, or parsed. It rejects only when the signal aborts or the user
   * cancels; any other failure is a text for the model.
   */
  call(name: string, args: string | object, context: CallContext = {}): Promise<ToolResult> {
    const argumentsText = typeof args === 'string' ? args : JSON.stringify(args);
    return this.#resultOf(async () => {
      if (name === 'exec_command') {
        const environment_id = parseEnvironmentId(argumentsText);
        selectEnvironmentId(environment_id, this.#toolContext.environments);
        return execCommand(this.#toolContext, { ...parseExecCommand(argumentsText), environment_id }, context);
      }
      if (name === 'write_stdin') {
        requireSession(this.#toolContext, parseSessionId(argumentsText));
        return writeStdin(this.#toolContext, parseWriteStdin(argumentsText), context);
      }
      throw new ToolError(`unsupported call: ${name}`);
    });
  }

  execCommand(args: ExecCommandArguments, context: CallContext = {}): Promise<ToolResult> {
    return this.#resultOf(() => execCommand(this.#toolContext, args, context));
  }

  writeStdin(args: WriteStdinArguments, context: CallContext = {}): Promise<ToolResult> {
    return this.#resultOf(() => writeStdin(this.#toolContext, args, context));
  }

  /** Applies a patch, with the same approval as a command that contains one. */
  async applyPatch(patch: string, args: ChangeArguments = {}, context: CallContext = {}): Promise<PermittedOutcome> {
    const call = await this.#changeCall('apply_patch', args);
    const command = { text: patch, directory: undefined, isExplicit: true };
    return applyPermittedPatch(command, call, this.#toolContext, context);
  }

  /** Writes a whole file, with the same approval. Rejects with an `ExecError`, `Rejected` or `Cancelled`. */
  async writeFile(path: string, content: string, args: ChangeArguments = {}, context: CallContext = {}): Promise<void> {
    await writePermittedFile(path, content, await this.#changeCall('write_file', args), this.#toolContext, context);
  }

  /** The events from now on. A subscriber that falls far behind misses output events, and is told how many. */
  events(signal?: AbortSignal): AsyncIterable<ExecEvent> {
    return this.#toolContext.events.subscribe(signal);
  }

  get sessions(): SessionSummary[] {
    return this.#toolContext.sessions.all.map(({ id, environmentId, argv, cwd, tty, process }) => ({
      sessionId: id,
      environmentId,
      argv,
      cwd,
      tty,
      hasExited: process.facts.hasExited,
    }));
  }

  /** Ends a session; false when there is none with this number. */
  async terminate(sessionId: number): Promise<boolean> {
    const { sessions } = this.#toolContext;
    const session = sessions.get(sessionId);
    if (!session) return false;
    sessions.free(sessionId);
    await session.process.terminate();
    return true;
  }

  /** Ends all sessions; resolves with their numbers. */
  async clean(): Promise<number[]> {
    const ids = this.sessions.map(({ sessionId }) => sessionId);
    await Promise.all(ids.map((id) => this.terminate(id)));
    return ids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#toolContext.sessions.shut();
    await this.clean();
    await this.#toolContext.endEvents.settle(limits.lastEventsMs);
    this.#toolContext.events.end();
  }

  async #changeCall(tool: ChangeCall['tool'], { environment_id, justification }: ChangeArguments): Promise<ChangeCall> {
    const environment = await selectEnvironment(environment_id, this.#toolContext);
    return { ...environment, cwd: environment.settings.cwd, tool, justification };
  }

  async #resultOf(work: () => Promise<ToolResult>): Promise<ToolResult> {
    const result = await resultOf(work);
    return { ...result, text: withinModel(result.text, this.#toolContext.modelOutputTokens) };
  }
}

/** Turns mistakes of the call into texts for the model. */
async function resultOf(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ArgumentsError) {
      return { text: `failed to parse function arguments: ${error.message}`, success: false };
    }
    if (error instanceof ToolError) return { text: error.message, success: false };
    throw error;
  }
}
