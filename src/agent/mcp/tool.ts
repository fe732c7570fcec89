import type { ApprovalAnswer, ApprovalRequest } from '../approval/index.ts';

/** A tool as it is listed to clients. */
export interface ToolListing {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObjectSchema;
  readonly outputSchema?: JsonObjectSchema;
  readonly annotations?: ToolAnnotations;
}

/** JSON Schema of an object. */
export type JsonObjectSchema = {
  readonly type: 'object';
  readonly properties: Record<string, JsonSchema>;
  readonly required?: string[];
  readonly additionalProperties?: boolean;
};

export type JsonSchema = { [member: string]: Json };
type Json = string | number | boolean | null | Json[] | JsonSchema;

export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** The origin of a tool call. */
export interface ToolCall {
  /** Unique; questions name it. */
  readonly callId: string;
  /** Aborts when the client has given up the call. */
  readonly signal: AbortSignal;
}

export interface ToolCallResult {
  /** The text for the model. */
  readonly text: string;
  readonly success: boolean;
  /** The same as data, by the output schema. */
  readonly structured?: Readonly<Record<string, unknown>>;
}

export interface Tool {
  readonly definition: ToolListing;
  call(args: unknown, call: ToolCall): Promise<ToolCallResult>;
}

/** Asks the user of the client whose call is running. */
export type AskUser = (request: ApprovalRequest, signal?: AbortSignal) => Promise<ApprovalAnswer>;

/** Tools with common state. */
export interface ToolSet extends AsyncDisposable {
  /** Tells the model how to use the tools. */
  readonly instructions: string;
  readonly tools: readonly Tool[];
}

/** Opens a set of tools for one client, whose user can be asked by `ask`. */
export type OpenToolSet = (ask: AskUser) => Promise<ToolSet>;
