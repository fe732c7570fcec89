import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio as serveOnStreams } from '@modelcontextprotocol/server/stdio';
import { deferred, type Logger, onAbort } from '../../base/index.ts';
import { createMcpServer } from './server.ts';
import { McpSession } from './session.ts';
import type { OpenToolSet } from './tool.ts';

export interface StdioOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly openToolSet: OpenToolSet;
  readonly log: Logger;
}

/** Serves one client on a pair of streams until the input ends. */
export async function serveStdio(
  { input, output, openToolSet, log }: StdioOptions,
  signal: AbortSignal,
): Promise<void> {
  await using session = await McpSession.open(openToolSet, log);
  const over = deferred();
  const transport = new StdioServerTransport(input, output);
  const connection = serveOnStreams(() => createMcpServer(session, log), {
    transport,
    onerror: ({ message }) => log.warn('mcp.failed', { message }),
  });
  const closed = transport.onclose;
  transport.onclose = () => {
    closed?.();
    over.resolve();
  };
  onAbort(signal, () => void connection.close().finally(() => over.resolve()));
  await over.promise;
}
