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
import { applyPatchTool } from './apply-patch-tool.ts';
import { listDirTool } from './list-dir-tool.ts';
import { readFileTool } from './read-file-tool.ts';
import { describeMode } from './sandbox-mode.ts';
import type { AskUser, ObjectSchema, Tool, ToolSet } from './tool.ts';
import { Workspace } from './workspace.ts';
import { writeFileTool } from './write-file-tool.ts';

export interface UnifiedExecToolsOptions {
  /** Where commands run. It belongs to the caller. */
  readonly backend: ExecBackend;
  /** Its name in questions. */
  readonly environmentId: string;
  /** Absolute; the directory the backend was started in unless given. */
  readonly cwd?: string | undefined;
  readonly sandbox: SandboxMode;
  readonly policy: ApprovalPolicy;
  readonly rules: Rules;
  /** How long a call waits for its command at most, questions aside. */
  readonly longestWaitMs?: number | undefined;
  readonly log: Logger;
}

/** Clients give up on a request after 60 s unless told otherwise; every answer comes well before. */
const LONGEST_WAIT_MS = 30_000;

/** A call that does not say how long it waits. */
const USUAL_WAIT_MS: Readonly<Record<string, number>> = { exec_command: 10_000 };

/** The tools to run commands with, and those for files, for one client. */
export async function openUnifiedExecTools(options: UnifiedExecToolsOptions, ask: AskUser): Promise<ToolSet> {
  const { backend, environmentId, sandbox, policy, rules, longestWaitMs = LONGEST_WAIT_MS, log } = options;
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
    instructions: `Commands run in ${cwd}. In the ${sandbox} sandbox ${describeMode(sandbox, cwd)}. ${SESSIONS}`,
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
  'A command that outlasts its call goes on under the session id of the answer: write_stdin reads more of its output ' +
  'and types into it.';

function commandTools(unifiedExec: UnifiedExec, longestWaitMs: number): Tool[] {
  return unifiedExec.tools().map(({ name, description, parameters }) => ({
    definition: {
      name,
      description,
      inputSchema: parameters as ObjectSchema,
      outputSchema: resultSchema as ObjectSchema,
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    },
    async call(args, context) {
      const text = JSON.stringify(withinWait(name, args, longestWaitMs));
      const { structured, ...result } = await unifiedExec.call(name, text, context);
      return { ...result, ...(structured && { structured: { ...structured } }) };
    },
  }));
}

/** The same arguments with a wait that is short enough; what is wrong with them is for the tool to say. */
function withinWait(name: string, args: unknown, longestWaitMs: number): unknown {
  if (typeof args !== 'object' || args === null) return args;
  const { yield_time_ms: wish = USUAL_WAIT_MS[name] } = args as { yield_time_ms?: unknown };
  return typeof wish === 'number' && wish > longestWaitMs ? { ...args, yield_time_ms: longestWaitMs } : args;
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
  if (!isDirectory) throw new Error(`cannot work in ${path}: it is no directory`);
}
