import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { type Logger, version } from '../../base/index.ts';
import { ExecError, type Sandbox } from '../../protocol/index.ts';
import type { AskEscalation, ExecShell, ShellOutcome } from '../escalation/index.ts';
import type { SandboxMode } from '../unified-exec/index.ts';
import { SHELL_TOOL, shellArguments, shellResult, shellToolDefinition } from './shell-tool.ts';
import { questionForm, replyOf } from './shell-tool-question.ts';
import { CallRounds } from './shell-tool-rounds.ts';
import {
  defaultSandbox,
  STATE_CAPABILITY,
  STATE_META,
  STATE_REQUEST,
  sandboxOfMeta,
  updateOf,
} from './shell-tool-state.ts';

export interface ShellServerOptions {
  readonly shell: ExecShell;
  /** What commands may touch as long as the client does not say. */
  readonly sandbox: SandboxMode;
  readonly log: Logger;
}

/** A user who does not answer for so long is away. */
const QUESTION_LIMIT_MS = 60 * 60_000;

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
      const sandbox = sandboxOfMeta(_meta?.[STATE_META]) ?? state ?? defaultSandbox(mode, args.workdir);
      const isModern = envelope !== undefined;
      const capabilities = isModern ? capabilitiesIn(envelope) : server.getClientCapabilities();
      const denials = capabilities?.experimental?.sandboxDenials !== undefined;
      const start = (ask: AskEscalation | undefined, until: AbortSignal) =>
        shell.run({ ...args, sandbox, denials, ask, signal: until });
      if (!canAsk(capabilities)) return callResult(await start(undefined, signal));
      if (!isModern) return callResult(await start(elicitation(context), signal));
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
    state = await inProtocolErrors(async () => updateOf(params).sandbox, params);
    return {};
  };
  // A notification cannot be refused, so what it gives beyond the present state is not believed.
  server.fallbackNotificationHandler = async ({ method, params }) => {
    if (method !== STATE_REQUEST) return;
    try {
      const { sandbox: wanted, cwd } = updateOf(params);
      if (shell.isNarrower(wanted, state ?? defaultSandbox(mode, cwd), cwd)) state = wanted;
      else log.warn('sandbox_state.not_obeyed', { reason: 'a notification cannot give more than there is' });
    } catch (error) {
      log.warn('sandbox_state.not_obeyed', { reason: (error as Error).message });
    }
  };
  return server;
}

function callResult(outcome: ShellOutcome): CallToolResult {
  const result = shellResult(outcome);
  return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result, isError: false };
}

/** The text of an error is the reference's, which does not say which directory it is about. */
function workdirIn({ workdir }: Readonly<Record<string, unknown>> = {}): { workdir: string } | undefined {
  return typeof workdir === 'string' ? { workdir } : undefined;
}

const capabilitiesIn = (envelope: object): ClientCapabilities | undefined =>
  (envelope as Record<string, ClientCapabilities>)[CLIENT_CAPABILITIES_META_KEY];

/** Clients that name no kind of elicitation mean forms. */
function canAsk(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Asks by requests of our own, as many at a time as there are questions. */
function elicitation({ mcpReq }: ServerContext): AskEscalation {
  return async ({ message }, signal) =>
    replyOf(
      await mcpReq.send(
        { method: 'elicitation/create', params: questionForm(message) },
        // A handler of progress gives the request a token for it, which clients of the reference see too.
        { signal, timeout: QUESTION_LIMIT_MS, onprogress: () => undefined },
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
