import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { type Logger, version } from '../../../base/index.ts';
import { ExecError, type Sandbox } from '../../../protocol/index.ts';
import type { AskEscalation, ExecShell, ShellOutcome } from '../../escalation/index.ts';
import type { SandboxMode } from '../../unified-exec/index.ts';
import { clientCapabilities, supportsForms } from '../client-capabilities.ts';
import { limits } from '../limits.ts';
import { escalationReply, questionForm } from './question-form.ts';
import { CallRounds } from './rounds.ts';
import {
  defaultSandbox,
  STATE_CAPABILITY,
  STATE_META,
  STATE_REQUEST,
  type StateUpdate,
  sandboxInMeta,
  stateUpdate,
} from './sandbox-state.ts';
import { SHELL_TOOL, shellArguments, shellResult, shellToolDefinition } from './tool.ts';

export interface ShellServerOptions {
  readonly shell: ExecShell;
  /** The sandbox until the client sets one. */
  readonly sandbox: SandboxMode;
  readonly log: Logger;
}

/** Serves the shell tool to one connection. */
export function createShellServer({ shell, sandbox: mode, log }: ShellServerOptions): Server {
  const server = new Server(
    { name: 'exec-mcp-server', version },
    {
      capabilities: {
        tools: {},
        experimental: { [STATE_CAPABILITY]: { version: '1.0.0' }, [STATE_META]: {} },
      },
      instructions: 'This server provides a tool that runs shell commands on the machine of the user.',
    },
  );
  const rounds = new CallRounds();
  let state: Sandbox | undefined;
  server.onerror = ({ message }) => log.warn('mcp.failed', { message });
  server.setRequestHandler('tools/list', () => ({ tools: [shellToolDefinition] }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    if (params.name !== SHELL_TOOL) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'tool not found');
    return inProtocolErrors(async () => {
      const args = shellArguments(params.arguments ?? {});
      const { _meta, envelope, signal } = context.mcpReq;
      const sandbox = sandboxInMeta(_meta?.[STATE_META]) ?? state ?? defaultSandbox(mode, args.workdir);
      const capabilities = clientCapabilities(server, context);
      const denials = capabilities?.experimental?.sandboxDenials !== undefined;
      const start = (ask: AskEscalation | undefined, until: AbortSignal) =>
        shell.run({ ...args, sandbox, denials, ask, signal: until });
      if (!supportsForms(capabilities)) return callResult(await start(undefined, signal));
      const hasConnection = envelope === undefined;
      if (hasConnection) return callResult(await start(askByRequest(context), signal));
      const round = await rounds.round(context, start);
      return 'asks' in round ? round.asks : callResult(round.outcome);
    }, workdirIn(params.arguments));
  });
  server.fallbackRequestHandler = async ({ method, params }) => {
    if (method === 'resources/list') return { resources: [] };
    if (method === 'resources/templates/list') return { resourceTemplates: [] };
    if (method === 'prompts/list') return { prompts: [] };
    if (method !== STATE_REQUEST) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, method);
    if (params === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'missing params for sandbox state request');
    }
    state = await inProtocolErrors(async () => stateUpdate(params).sandbox, params);
    return {};
  };
  // A notification cannot be answered with an error, so one that asks for more than the present state is ignored.
  server.fallbackNotificationHandler = async ({ method, params }) => {
    if (method !== STATE_REQUEST) return;
    let update: StateUpdate;
    try {
      update = stateUpdate(params);
    } catch (error) {
      return log.warn('sandbox_state.not_obeyed', { reason: (error as Error).message });
    }
    const { sandbox, cwd } = update;
    if (shell.isNarrower(sandbox, state ?? defaultSandbox(mode, cwd), cwd)) state = sandbox;
    else log.warn('sandbox_state.not_obeyed', { reason: 'a notification cannot widen the sandbox; send a request' });
  };
  return server;
}

function callResult(outcome: ShellOutcome): CallToolResult {
  const result = shellResult(outcome);
  return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result, isError: false };
}

/** The data of an error: its text is the reference's, which does not name the directory. */
function workdirIn({ workdir }: Readonly<Record<string, unknown>> = {}): { workdir: string } | undefined {
  return typeof workdir === 'string' ? { workdir } : undefined;
}

/** Asks the user by a request to the client, one for each question. */
function askByRequest({ mcpReq }: ServerContext): AskEscalation {
  return async ({ message }, signal) =>
    escalationReply(
      await mcpReq.send(
        { method: 'elicitation/create', params: questionForm(message) },
        // With a handler of progress the request has a progress token, as the reference's requests have.
        { signal, timeout: limits.shellQuestionMs, onprogress: () => undefined },
      ),
    );
}

async function inProtocolErrors<T>(work: () => Promise<T>, data?: unknown): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { kind, message } = ExecError.from(error);
    const code = kind === 'invalidParams' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, message, data);
  }
}
