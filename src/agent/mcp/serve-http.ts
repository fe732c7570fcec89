import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { type Logger, Scope } from '../../base/index.ts';
import { HttpPort } from '../../host/http/index.ts';
import { refusePeer } from '../../host/peers/index.ts';
import { BearerGuard, refuse } from './bearer-guard.ts';
import { HttpSessions } from './http-sessions.ts';
import { createMcpServer } from './server.ts';
import { McpSession } from './session.ts';
import type { OpenToolSet } from './tool.ts';

export interface HttpOptions {
  /** An address of this machine alone. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly token: string;
  readonly openToolSet: OpenToolSet;
  readonly log: Logger;
  announce(url: string): void;
}

const PATH = '/mcp';

/** Clients keep streams open until they end, so the port does not wait for them. */
const GOODBYE_MS = 0;

/**
 * Serves streamable HTTP until the signal aborts. Clients that begin with `initialize` have sessions of their own; the newer
 * protocol has no sessions, so all its clients share one: they know the same token.
 */
export async function serveHttp(options: HttpOptions, signal: AbortSignal): Promise<void> {
  const { token, openToolSet, log, announce } = options;
  await using scope = new Scope();
  const sessions = scope.own(new HttpSessions(openToolSet, log));
  const shared = scope.own(await McpSession.open(openToolSet, log));
  const onerror = ({ message }: Error) => log.warn('mcp.failed', { message });
  const modern = createMcpHandler(() => createMcpServer(shared, log), { legacy: 'reject', onerror });
  scope.defer(() => modern.close());
  const handle = toNodeHandler(
    { fetch: async (request) => ((await isLegacyRequest(request)) ? sessions.handle(request) : modern.fetch(request)) },
    { onerror },
  );
  const guard = new BearerGuard(token);
  const server = createServer(async (request, response) => {
    if (!guard.admits(request, response)) return;
    const refusal = await refusePeer(request.socket, 'token');
    if (refusal !== undefined) return void refuse(response, 403, refusal);
    const [path] = (request.url ?? '').split('?');
    if (path === PATH) void handle(request as IncomingMessage & { method: string; url: string }, response);
    else response.writeHead(404).end();
  });
  const port = scope.own(new HttpPort(server, GOODBYE_MS));
  await port.listen(options);
  announce(`http://${port.authority}${PATH}`);
  if (!signal.aborted) await once(signal, 'abort');
}
