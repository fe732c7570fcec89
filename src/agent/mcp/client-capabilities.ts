import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';

/** The capabilities of a client: in each request where the protocol has no connections, else from its `initialize`. */
export function clientCapabilities(server: Server, { mcpReq }: ServerContext): ClientCapabilities | undefined {
  const envelope = mcpReq.envelope as Record<string, ClientCapabilities> | undefined;
  return envelope ? envelope[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();
}

/** Whether a client can show a form to its user. One that names no kind of elicitation means forms. */
export function supportsForms(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}
