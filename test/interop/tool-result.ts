/** What the client gives the model after a tool call. */
export interface ToolResult {
  readonly text: string;
  /** What the command printed; empty for tools that answer with a plain sentence. */
  readonly output: string;
  readonly exitCode: number | null;
  /** Set while the command is still running. */
  readonly sessionId: number | null;
  /** Size of the output before it was shortened for the model. */
  readonly tokens: number | null;
}

const separator = '\nOutput:\n';

/** The header is one fact per line; the output follows its own heading and is kept byte for byte. */
export function parseToolResult(text: string): ToolResult {
  const end = text.indexOf(separator);
  const header = end < 0 ? '' : text.slice(0, end);
  return {
    text,
    output: end < 0 ? '' : text.slice(end + separator.length),
    exitCode: numberIn(header, /^(?:Process exited with code|Exit code:) (-?\d+)$/m),
    sessionId: numberIn(header, /^Process running with session ID (\d+)$/m),
    tokens: numberIn(header, /^Original token count: (\d+)$/m),
  };
}

function numberIn(header: string, pattern: RegExp): number | null {
  const found = pattern.exec(header)?.[1];
  return found === undefined ? null : Number(found);
}
