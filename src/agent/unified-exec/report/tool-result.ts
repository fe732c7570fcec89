import type { StructuredResult } from './response.ts';

/** What a tool call comes to. */
export interface ToolResult {
  /** For the model, as it is. */
  readonly text: string;
  /** False when the call itself failed; a command with an exit code other than 0 is a success. */
  readonly success: boolean;
  /** The same as values, where there is a command to tell about. */
  readonly structured?: StructuredResult;
}

/** A call that fails with a text for the model. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}
