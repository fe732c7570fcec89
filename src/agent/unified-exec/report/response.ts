import { randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import { cutMiddle, fitOutput, type Printed, tokensOf } from './truncation.ts';

/** What one call has to tell. */
export interface CallReport {
  readonly chunkId?: string;
  readonly wallTimeMs: number;
  /** Known when the process is over. */
  readonly exitCode?: number;
  /** Given while it is alive. */
  readonly sessionId?: number;
  readonly printed: Printed;
}

/** The same facts for a host that does not want text. */
export interface StructuredResult {
  readonly chunk_id?: string;
  readonly wall_time_seconds: number;
  readonly exit_code?: number;
  readonly session_id?: number;
  readonly original_token_count?: number;
  readonly output: string;
}

export const newChunkId = (): string => randomBytes(3).toString('hex');

/** The text for the model. Header included it stays within 1.2 times what the model takes, at the cost of the output. */
export function responseText(report: CallReport, outputTokens: number, modelTokens: number): string {
  const header = headerText(report);
  const text = (tokens: number): string => `${header}\n${fitOutput(report.printed, tokens)}`;
  const whole = text(outputTokens);
  const excess = tokensOf(Buffer.byteLength(whole)) - longestAnswer(modelTokens);
  return excess > 0 ? text(Math.max(0, outputTokens - excess)) : whole;
}

/** No answer is longer than this, whatever it says: of one that is, the middle is left out. */
export const withinModel = (text: string, modelTokens: number): string => cutMiddle(text, longestAnswer(modelTokens));

const longestAnswer = (modelTokens: number): number => Math.ceil(modelTokens * 1.2);

export function structuredResult(report: CallReport, outputTokens: number): StructuredResult {
  const { chunkId, wallTimeMs, exitCode, sessionId, printed } = report;
  return {
    ...(chunkId !== undefined && { chunk_id: chunkId }),
    wall_time_seconds: wallTimeMs / 1000,
    ...(exitCode !== undefined && { exit_code: exitCode }),
    ...(sessionId !== undefined && { session_id: sessionId }),
    ...(chunkId !== undefined && { original_token_count: tokensOf(printed.totalBytes) }),
    output: fitOutput(printed, outputTokens),
  };
}

/** The tokens a call may fill: what it asks for, but never more than the model takes. */
export function outputBudget(asked: number | undefined, modelTokens: number): number {
  return Math.min(asked ?? limits.modelOutputTokens, modelTokens);
}

function headerText({ chunkId, wallTimeMs, exitCode, sessionId, printed }: CallReport): string {
  return [
    chunkId !== undefined && `Chunk ID: ${chunkId}`,
    `Wall time: ${(wallTimeMs / 1000).toFixed(4)} seconds`,
    exitCode !== undefined && `Process exited with code ${exitCode}`,
    sessionId !== undefined && `Process running with session ID ${sessionId}`,
    chunkId !== undefined && `Original token count: ${tokensOf(printed.totalBytes)}`,
    'Output:',
  ]
    .filter((line) => line !== false)
    .join('\n');
}
