import type { ApprovalAnswer, ApprovalRequest } from '../approval/index.ts';

/** A tool as it is listed to clients. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly annotations?: ToolAnnotations;
}

/** JSON Schema of an object. */
export type ObjectSchema = {
  readonly type: 'object';
  readonly properties: Record<string, Schema>;
  readonly required?: string[];
  readonly additionalProperties?: boolean;
};

export type Schema = { [member: string]: Json };
type Json = string | number | boolean | null | Json[] | Schema;

export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** The context of one call of a tool. */
export interface CallContext {
  /** Unique; questions name it. */
  readonly callId: string;
  /** Aborts when the client waits for the result no more. */
  readonly signal: AbortSignal;
}

export interface ToolResult {
  /** The text for the model. */
  readonly text: string;
  readonly success: boolean;
  /** The same as data, as the output schema describes it. */
  readonly structured?: Readonly<Record<string, unknown>>;
}

export interface Tool {
  readonly definition: ToolDefinition;
  call(args: unknown, context: CallContext): Promise<ToolResult>;
}

/** Puts a question to the client that waits for a call. */
export type AskUser = (request: ApprovalRequest, signal?: AbortSignal) => Promise<ApprovalAnswer>;

/** Tools that belong together, and what they keep between calls. */
export interface ToolSet extends AsyncDisposable {
  /** How to use them, for the model. */
  readonly instructions: string;
  readonly tools: readonly Tool[];
}

/** Opens a set for one client, with the way to ask its user. */
export type OpenToolSet = (ask: AskUser) => Promise<ToolSet>;
