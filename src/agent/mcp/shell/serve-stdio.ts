import { type Readable, Transform, type Writable } from 'node:stream';
import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import { limits } from '../limits.ts';
import { serveStreams } from '../serve-stdio.ts';
import { createShellServer, type ShellServerOptions } from './server.ts';

export interface ShellStdioOptions extends ShellServerOptions {
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves the shell tool on a pair of streams until the input ends or the signal aborts. */
export async function serveShellTool(options: ShellStdioOptions, signal: AbortSignal): Promise<void> {
  const { input, output, log } = options;
  const respond = (code: number, message: string): void => {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`);
  };
  const lines = jsonLines(() => respond(ProtocolErrorCode.ParseError, 'the line is not JSON'));
  const onError = ({ name }: Error): void => {
    if (name === 'ZodError') respond(ProtocolErrorCode.InvalidRequest, 'the line is not a JSON-RPC message');
  };
  const createServer = () => createShellServer(options);
  await serveStreams({ input: input.pipe(lines), output, createServer, log, onError }, signal);
  input.destroy();
}

const NEWLINE = 0x0a;

/** Passes on the lines that are JSON. The SDK drops others without an answer, and their senders would wait for one. */
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
      if (rest.length > limits.lineBytes) {
        this.push(rest); // the reader behind reports the error
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
    return false; // the caller answers with the error
  }
}
