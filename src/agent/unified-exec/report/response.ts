import { randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import type { OutputText } from './output-text.ts';
import { cutMiddle, fitOutput, tokensOf } from './truncation.ts';

/** The result of one call. */
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

export const newChunkId = (): string => randomBytes(3).toString('hex');

/** The text for the model. Header and output together stay within 1.2 times the tokens of the model: the output is shortened. */
export function responseText(report: CallReport, outputTokens: number, modelTokens: number): string {
  const header = headerText(report);
  const text = (tokens: number): string => `${header}\n${fitOutput(report.output, tokens)}`;
  const whole = text(outputTokens);
  const excess = tokensOf(Buffer.byteLength(whole)) - longestAnswer(modelTokens);
  return excess > 0 ? text(Math.max(0, outputTokens - excess)) : whole;
}

/** Leaves out the middle of an answer that is longer than the model may get. */
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

/** The tokens of a call's output: as many as it asks for, and never more than the model may get. */
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
