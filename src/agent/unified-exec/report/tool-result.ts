import type { StructuredResult } from './response.ts';

/** The result of a tool call. */
export interface ToolResult {
  /** The text for the model. */
  readonly text: string;
  /** False when the call itself failed; a command with an exit code other than 0 is a success. */
  readonly success: boolean;
  /** The same facts as values; undefined where no command ran. */
  readonly structured?: StructuredResult;
}

/** A failed call; the message is the text for the model. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
