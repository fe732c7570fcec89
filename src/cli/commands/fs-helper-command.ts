import { text } from 'node:stream/consumers';
import { FileService } from '../../host/files/index.ts';
import { SandboxHost } from '../../host/sandbox/index.ts';
import { decodeParams, ExecError, isMethodName } from '../../protocol/index.ts';

interface Order {
  readonly operation?: unknown;
  readonly params?: unknown;
}

/**
 * Carries out one filesystem operation: a line of JSON with `operation` and `params` on stdin, a line with the outcome
 * on stdout. What the operation may touch is decided by the sandbox this program runs in.
 */
export async function fsHelperCommand(): Promise<number> {
  const outcome = await carryOut(await text(process.stdin)).catch((error) => ({
    status: 'error',
    payload: ExecError.from(error).toWire(),
  }));
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
  return 0;
}

async function carryOut(line: string): Promise<unknown> {
  const { operation, params } = JSON.parse(line) as Order;
  await using files = new FileService({ sandboxes: new SandboxHost({ environment: {} }), onMissingChanged: () => {} });
  if (typeof operation !== 'string' || !isMethodName(operation) || !files.answers(operation)) {
    throw new ExecError('invalidRequest', `unknown operation ${JSON.stringify(operation)}`);
  }
  const { buffer, start, end } = await files.answer(operation, decodeParams(operation, params) as never);
  return { status: 'ok', payload: { operation, response: JSON.parse(buffer.toString('utf8', start, end)) } };
}
