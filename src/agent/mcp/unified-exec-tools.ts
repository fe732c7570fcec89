import type { Logger } from '../../base/index.ts';
import { ExecError, PathUri } from '../../protocol/index.ts';
import { type ApprovalPolicy, callbackApprover, Orchestrator } from '../approval/index.ts';
import type { Rules } from '../rules/index.ts';
import {
  Environments,
  type ExecBackend,
  permissionsOf,
  resultSchema,
  type SandboxMode,
  UnifiedExec,
} from '../unified-exec/index.ts';
import { applyPatchTool } from './files/apply-patch.ts';
import { listDirTool } from './files/list-dir.ts';
import { readFileTool } from './files/read-file.ts';
import { Workspace } from './files/workspace.ts';
import { writeFileTool } from './files/write-file.ts';
import { limits } from './limits.ts';
import type { AskUser, JsonObjectSchema, Tool, ToolSet } from './tool.ts';

export interface UnifiedExecToolsOptions {
  /** Where commands run. The caller disposes of it. */
  readonly backend: ExecBackend;
  /** The name of the environment in questions. */
  readonly environmentId: string;
  /** Absolute; by default the directory that the backend was started in. */
  readonly cwd?: string | undefined;
  readonly sandbox: SandboxMode;
  readonly policy: ApprovalPolicy;
  readonly rules: Rules;
  /** How long a call waits for its command at most, without the time of questions. */
  readonly longestWaitMs?: number | undefined;
  readonly log: Logger;
}

/** How long a call waits without `yield_time_ms`. */
const DEFAULT_WAIT_MS: Readonly<Record<string, number>> = { exec_command: 10_000 };

/** Opens the tools for commands and files for one client. */
export async function openUnifiedExecTools(options: UnifiedExecToolsOptions, ask: AskUser): Promise<ToolSet> {
  const { backend, environmentId, sandbox, policy, rules, longestWaitMs = limits.longestWaitMs, log } = options;
  const cwd = options.cwd ?? (await directoryOf(backend));
  await requireDirectory(backend, cwd);
  const orchestrator = new Orchestrator({
    policy,
    approver: callbackApprover(ask),
    rules,
    onProblem: ({ message }) => log.warn('rule.not_written', { message }),
  });
  const unifiedExec = new UnifiedExec({
    environments: new Environments({ [environmentId]: backend }),
    settings: { [environmentId]: { cwd, permissions: permissionsOf(sandbox) } },
    orchestrator,
    backgroundTerminalMaxTimeoutMs: longestWaitMs,
  });
  const workspace = new Workspace({ backend, environmentId, cwd, sandbox, policy, orchestrator });
  return {
    instructions: `Commands run in ${cwd}. ${workspace.permitted} ${SESSIONS}`,
    tools: [
      ...commandTools(unifiedExec, longestWaitMs),
      readFileTool(workspace),
      writeFileTool(workspace, unifiedExec),
      listDirTool(workspace),
      applyPatchTool(workspace, unifiedExec),
    ],
    [Symbol.asyncDispose]: () => unifiedExec[Symbol.asyncDispose](),
  };
}

const SESSIONS =
  'A command that outlasts its call goes on, and the answer has its session id: write_stdin reads more of its output ' +
  'and types into it.';

function commandTools(unifiedExec: UnifiedExec, longestWaitMs: number): Tool[] {
  return unifiedExec.tools().map(({ name, description, parameters }) => ({
    definition: {
      name,
      description,
      inputSchema: parameters as JsonObjectSchema,
      outputSchema: resultSchema as JsonObjectSchema,
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    },
    call: (args, call) => unifiedExec.call(name, JSON.stringify(withinWait(name, args, longestWaitMs)), call),
  }));
}

/** The arguments with a wait of at most `longestWaitMs`. Wrong arguments stay as they are: the tool reports them. */
function withinWait(name: string, args: unknown, longestWaitMs: number): unknown {
  if (typeof args !== 'object' || args === null) return args;
  const { yield_time_ms: waitMs = DEFAULT_WAIT_MS[name] } = args as { yield_time_ms?: unknown };
  return typeof waitMs === 'number' && waitMs > longestWaitMs ? { ...args, yield_time_ms: longestWaitMs } : args;
}

async function directoryOf(backend: ExecBackend): Promise<string> {
  const path = (await backend.info())?.cwd?.toNative();
  if (typeof path === 'string') return path;
  throw new Error('the server does not say where it runs; use --cwd DIR');
}

async function requireDirectory(backend: ExecBackend, path: string): Promise<void> {
  const files = await backend.fileSystem();
  const { isDirectory } = await files.getMetadata(PathUri.fromNative(path)).catch((error: unknown) => {
    throw new Error(`cannot work in ${path}: ${ExecError.from(error).message}`);
  });
  if (!isDirectory) throw new Error(`cannot work in ${path}: it is not a directory`);
}
