import type { Child, EncodedChunk, ExitStatus } from '../os/index.ts';

/** How a helper ended. */
export interface HelperEnd {
  readonly status: string;
  /** The last lines, which hold the reason. */
  readonly stderr: string;
}

/** Reads what a helper prints until it has ended. */
export async function endOf(child: Child): Promise<HelperEnd> {
  let stderr = '';
  for await (const event of child.events) {
    if (event.type !== 'output' || event.stream !== 'stderr') continue;
    stderr = `${stderr}${textOf(event.chunk)}`.slice(-STDERR_LIMIT);
  }
  return { status: describeStatus(await child.exited), stderr };
}

function describeStatus(status: ExitStatus): string {
  return 'code' in status ? `exit status: ${status.code}` : `signal: ${status.signal}`;
}

/** The reader thread hands out all output as base64. */
function textOf({ buffer, start, end }: EncodedChunk): string {
  return Buffer.from(buffer.toString('latin1', start, end), 'base64').toString();
}

/** More would let a helper fill the memory. */
const STDERR_LIMIT = 2000;
