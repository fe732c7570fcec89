import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { type Logger, onAbort, version } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import { approvalForm, readAnswer } from './elicitation.ts';
import { reportProgress } from './progress.ts';
import type { PendingQuestion, RunningCall } from './running-call.ts';
import type { McpSession } from './session.ts';
import type { ToolResult } from './tool.ts';

/** The name of the one question a result may carry. */
const APPROVAL = 'approval';
/** One call may lead to several questions: about a command, a second attempt, the hosts it wants to reach. */
const MOST_QUESTIONS = 16;

const CANNOT_ASK =
  'approval is needed, but this MCP client cannot ask its user: it does not support elicitation. ' +
  'Use a client that does, allow the command or the file by a rule, or start exec-server mcp with another --approval or --sandbox';

/**
 * Serves a session to one connection, or to one request where the protocol knows no connections. A question leaves as a
 * result that asks for input; for clients of the time before those the SDK turns it into `elicitation/create`.
 */
export function createMcpServer(session: McpSession, log: Logger): Server {
  const server = new Server(
    { name: 'exec-server', version },
    { capabilities: { tools: {} }, instructions: session.instructions, inputRequired: { maxRounds: MOST_QUESTIONS } },
  );
  server.onerror = ({ message }) => log.warn('mcp.failed', { message });
  server.setRequestHandler('tools/list', () => ({ tools: session.tools.map(({ definition }) => ({ ...definition })) }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const envelope = context.mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
    const capabilities = envelope ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
    try {
      return await serveCall(session, params, context, supportsForms(capabilities));
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, ExecError.from(error).message);
    }
  });
  return server;
}

/** Clients that name no kind of elicitation mean forms. */
function supportsForms(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

async function serveCall(
  session: McpSession,
  params: { readonly name: string; readonly arguments?: unknown },
  context: ServerContext,
  canAsk: boolean,
): Promise<CallToolResult | InputRequiredResult> {
  const { callId, call } = resume(session, context) ?? session.start(params.name, params.arguments ?? {});
  using _interest = abandonOnAbort(session, callId, context);
  using _progress = reportProgress(context, params.name);
  for (;;) {
    const event = await session.next(callId, call);
    if (event.kind === 'result') return toCallResult(event.result);
    if (canAsk) return inputRequest(callId, event.question);
    call.refuse(event.question, CANNOT_ASK);
  }
}

/**
 * Gives the call up when the client does. Where requests stand alone the one that brings a question ends, which its
 * signal tells too, and the answer comes with another: there only the time until the question counts.
 */
function abandonOnAbort(session: McpSession, callId: string, { mcpReq }: ServerContext): Disposable {
  const { signal, envelope } = mcpReq;
  const abandoning = onAbort(signal, (reason) => session.abandon(callId, reason));
  return { [Symbol.dispose]: () => envelope && abandoning[Symbol.dispose]() };
}

function inputRequest(callId: string, { request }: PendingQuestion): InputRequiredResult {
  const { message, requestedSchema } = approvalForm(request);
  return inputRequired({
    inputRequests: { [APPROVAL]: inputRequired.elicit({ mode: 'form', message, requestedSchema }) },
    requestState: `${callId} ${request.approvalId}`,
  });
}

/** The call whose question a request answers. An answer to another question than the one it was asked is void. */
function resume(session: McpSession, { mcpReq }: ServerContext): { callId: string; call: RunningCall } | undefined {
  const state = mcpReq.requestState<string>();
  if (state === undefined) return undefined;
  const [callId = '', approvalId] = state.split(' ');
  const call = session.find(callId);
  if (!call) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the call that asked has ended; call the tool again');
  }
  const { question } = call;
  if (question?.request.approvalId === approvalId) {
    call.answer(question!, readAnswer(mcpReq.inputResponses?.[APPROVAL], question!.request));
  }
  return { callId, call };
}

function toCallResult({ text, success, structured }: ToolResult): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    ...(structured && success && { structuredContent: { ...structured } }),
    ...(!success && { isError: true }),
  };
}
