import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { type Logger, onAbort, version } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import { clientCapabilities, supportsForms } from './client-capabilities.ts';
import { approvalForm, readAnswer } from './elicitation.ts';
import { limits } from './limits.ts';
import { reportProgress } from './progress.ts';
import type { OpenApproval, RunningCall } from './running-call.ts';
import type { McpSession } from './session.ts';
import type { ToolCallResult } from './tool.ts';

/** The key of the one question that a result can have. */
const APPROVAL = 'approval';

const CANNOT_ASK =
  'approval is needed, but this MCP client cannot ask its user: it does not support elicitation. ' +
  'Use a client that does, allow the command or the file by a rule, or start exec-server mcp with another --approval or --sandbox';

/**
 * Serves a session to one connection, or to one request where the protocol has no connections. A question is a result that asks
 * for input; for clients of older protocol versions the SDK turns it into `elicitation/create`.
 */
export function createMcpServer(session: McpSession, log: Logger): Server {
  const server = new Server(
    { name: 'exec-server', version },
    {
      capabilities: { tools: {} },
      instructions: session.instructions,
      inputRequired: { maxRounds: limits.questionsPerCall },
    },
  );
  server.onerror = ({ message }) => log.warn('mcp.failed', { message });
  server.setRequestHandler('tools/list', () => ({ tools: session.tools.map(({ definition }) => ({ ...definition })) }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    try {
      return await serveCall(session, params, context, supportsForms(clientCapabilities(server, context)));
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, ExecError.from(error).message);
    }
  });
  return server;
}

async function serveCall(
  session: McpSession,
  params: { readonly name: string; readonly arguments?: unknown },
  context: ServerContext,
  canAsk: boolean,
): Promise<CallToolResult | InputRequiredResult> {
  const { callId, call } = resume(session, context) ?? session.start(params.name, params.arguments ?? {});
  using _abandoning = abandonOnAbort(session, callId, context);
  using _progress = reportProgress(context, params.name);
  for (;;) {
    const event = await session.next(callId, call);
    if (event.kind === 'result') return toCallResult(event.result);
    if (canAsk) return inputRequest(callId, event.question);
    call.refuse(event.question, CANNOT_ASK);
  }
}

/**
 * Abandons the call when the client cancels its request. Without connections the signal also aborts when the request ends with a
 * question, whose answer comes with another request: there the listener is removed first.
 */
function abandonOnAbort(session: McpSession, callId: string, { mcpReq }: ServerContext): Disposable {
  const { signal, envelope } = mcpReq;
  const abandoning = onAbort(signal, (reason) => session.abandon(callId, reason));
  return { [Symbol.dispose]: () => envelope && abandoning[Symbol.dispose]() };
}

function inputRequest(callId: string, { request }: OpenApproval): InputRequiredResult {
  const { message, requestedSchema } = approvalForm(request);
  return inputRequired({
    inputRequests: { [APPROVAL]: inputRequired.elicit({ mode: 'form', message, requestedSchema }) },
    requestState: `${callId} ${request.approvalId}`,
  });
}

/** The call whose question a request answers. An answer to a question that is not open any more is ignored. */
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

function toCallResult({ text, success, structured }: ToolCallResult): CallToolResult {
  return {
    content: [{ type: 'text', text }],
    ...(structured && success && { structuredContent: { ...structured } }),
    ...(!success && { isError: true }),
  };
}
