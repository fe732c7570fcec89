import type { Readable, Writable } from 'node:stream';
import type { Server } from '@modelcontextprotocol/server';
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

/** Serves one client on a pair of streams until the input ends or the signal aborts. */
export async function serveStdio(
  { input, output, openToolSet, log }: StdioOptions,
  signal: AbortSignal,
): Promise<void> {
  await using session = await McpSession.open(openToolSet, log);
  await serveStreams({ input, output, createServer: () => createMcpServer(session, log), log }, signal);
}

export interface StreamsOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly createServer: () => Server;
  readonly log: Logger;
  /** Told of messages that cannot be read, besides the log. */
  readonly onError?: (error: Error) => void;
}

/** Connects a server to a pair of streams until the input ends or the signal aborts. */
export async function serveStreams(
  { input, output, createServer, log, onError }: StreamsOptions,
  signal: AbortSignal,
): Promise<void> {
  const closed = deferred();
  const transport = new StdioServerTransport(input, output);
  const connection = serveOnStreams(createServer, {
    transport,
    onerror: ({ message }) => log.warn('mcp.failed', { message }),
  });
  const { onclose, onerror } = transport;
  transport.onclose = () => {
    onclose?.();
    closed.resolve();
  };
  transport.onerror = (error) => {
    onerror?.(error);
    onError?.(error);
  };
  onAbort(signal, () => void connection.close().finally(() => closed.resolve()));
  await closed.promise;
}
