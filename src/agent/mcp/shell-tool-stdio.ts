import { type Readable, Transform, type Writable } from 'node:stream';
import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { deferred, onAbort } from '../../base/index.ts';
import { createShellServer, type ShellServerOptions } from './shell-tool-server.ts';

export interface ShellStdioOptions extends ShellServerOptions {
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves the shell tool on a pair of streams until the input ends. */
export async function serveShellTool(options: ShellStdioOptions, signal: AbortSignal): Promise<void> {
  const { input, output, log } = options;
  const over = deferred();
  const complain = (code: number, message: string): void => {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`);
  };
  const lines = jsonLines(() => complain(ProtocolErrorCode.ParseError, 'the line is no JSON'));
  const transport = new StdioServerTransport(input.pipe(lines), output);
  const connection = serveStdio(() => createShellServer(options), {
    transport,
    onerror: ({ message }) => log.warn('mcp.failed', { message }),
  });
  const { onclose, onerror } = transport;
  transport.onclose = () => {
    onclose?.();
    over.resolve();
  };
  transport.onerror = (error) => {
    onerror?.(error);
    if (error.name === 'ZodError') complain(ProtocolErrorCode.InvalidRequest, 'the line is no JSON-RPC message');
  };
  onAbort(signal, () => void connection.close().finally(() => over.resolve()));
  await over.promise;
  input.destroy();
}

/** A line longer than this is passed on as it is: its reader reports the error. */
const LONGEST_LINE = 8 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Passes on the lines that are JSON. The SDK drops others in silence, and their senders would wait for an answer. */
function jsonLines(onOther: () => void): Transform {
  let rest: Buffer = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
        const line = rest.subarray(0, end + 1);
        rest = rest.subarray(end + 1);
        if (isJson(line)) this.push(line);
        else if (line.toString().trim() !== '') onOther();
      }
      if (rest.length > LONGEST_LINE) {
        this.push(rest);
        rest = Buffer.alloc(0);
      }
      done();
    },
  });
}

function isJson(line: Buffer): boolean {
  try {
    JSON.parse(line.toString());
    return true;
  } catch {
    return false; // the caller complains to the client
  }
}
