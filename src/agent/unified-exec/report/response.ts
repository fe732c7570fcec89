import { randomBytes } from 'node:crypto';
import type { HeadTail } from '../../../base/index.ts';
import { limits } from '../limits.ts';
import { type OutputText, outputText } from './output-text.ts';
import type { ToolResult } from './tool-result.ts';
import { cutMiddle, fitOutput, tokensOf } from './truncation.ts';

/** The facts that the answer to a call tells. */
export interface CallReport {
  readonly chunkId?: string;
  readonly wallTimeMs: number;
  /** Present when the process is over. */
  readonly exitCode?: number;
  /** Present while the process is alive. */
  readonly sessionId?: number;
  readonly output: OutputText;
}

/** The same facts for a client that reads structured results; a type alias, so that it is a record of unknowns too. */
export type StructuredResult = {
  readonly chunk_id?: string;
  readonly wall_time_seconds: number;
  readonly exit_code?: number;
  readonly session_id?: number;
  readonly original_token_count?: number;
  readonly output: string;
};

/** Makes the result of a call from the output that it has collected. */
export function callResult(
  facts: Pick<CallReport, 'wallTimeMs'> & { exitCode?: number | undefined; sessionId?: number | undefined },
  collected: HeadTail,
  askedTokens: number | undefined,
  modelTokens: number,
): ToolResult {
  const { wallTimeMs, exitCode, sessionId } = facts;
  const report: CallReport = {
    chunkId: newChunkId(),
    wallTimeMs,
    ...(exitCode !== undefined && { exitCode }),
    ...(sessionId !== undefined && { sessionId }),
    output: outputText(collected),
  };
  const tokens = outputBudget(askedTokens, modelTokens);
  return {
    text: responseText(report, tokens, modelTokens),
    success: true,
    structured: structuredResult(report, tokens),
  };
}

export const newChunkId = (): string => randomBytes(3).toString('hex');

/** The text for the model. Header and output together stay within 1.2 times the tokens of the model: the output is shortened. */
export function responseText(report: CallReport, outputTokens: number, modelTokens: number): string {
  const header = headerText(report);
  const text = (tokens: number): string => `${header}\n${fitOutput(report.output, tokens)}`;
  const whole = text(outputTokens);
  const excess = tokensOf(Buffer.byteLength(whole)) - longestAnswer(modelTokens);
  return excess > 0 ? text(Math.max(0, outputTokens - excess)) : whole;
}

/** Leaves out the middle of an answer that is longer than the model's limit. */
export const withinModel = (text: string, modelTokens: number): string => cutMiddle(text, longestAnswer(modelTokens));

const longestAnswer = (modelTokens: number): number => Math.ceil(modelTokens * 1.2);

export function structuredResult(report: CallReport, outputTokens: number): StructuredResult {
  const { chunkId, wallTimeMs, exitCode, sessionId, output } = report;
  return {
    ...(chunkId !== undefined && { chunk_id: chunkId }),
    wall_time_seconds: wallTimeMs / 1000,
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(sessionId !== undefined && { session_id: sessionId }),
    ...(chunkId !== undefined && { original_token_count: tokensOf(output.totalBytes) }),
    output: fitOutput(output, outputTokens),
  };
}

/** How many tokens of output a call gets: as many as it asks for, up to the model's limit. */
export function outputBudget(asked: number | undefined, modelTokens: number): number {
  return Math.min(asked ?? limits.modelOutputTokens, modelTokens);
}

function headerText({ chunkId, wallTimeMs, exitCode, sessionId, output }: CallReport): string {
  return [
    chunkId !== undefined && `Chunk ID: ${chunkId}`,
    `Wall time: ${(wallTimeMs / 1000).toFixed(4)} seconds`,
    exitCode !== undefined && `Process exited with code ${exitCode}`,
    sessionId !== undefined && `Process running with session ID ${sessionId}`,
    chunkId !== undefined && `Original token count: ${tokensOf(output.totalBytes)}`,
    'Output:',
  ]
    .filter((line) => line !== false)
    .join('\n');
}
