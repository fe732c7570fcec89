import type { HeadTail, Turnstile } from '../../base/index.ts';
import type { EnvPolicy } from '../../protocol/index.ts';
import type { PlanOptions } from './plan/command-plan.ts';
import type { EventStream } from './report/event-stream.ts';
import { outputText } from './report/output-text.ts';
import { type CallReport, newChunkId, outputBudget, responseText, structuredResult } from './report/response.ts';
import type { ToolResult } from './report/tool-result.ts';
import type { Endings } from './run/endings.ts';
import type { Sessions } from './run/sessions.ts';

/** The origin of a call, and the signal that ends waiting for it. A command that runs by then goes on. */
export interface CallContext {
  readonly callId?: string;
  readonly turnId?: string;
  readonly signal?: AbortSignal;
}

/** State and settings that all calls of one conversation share. */
export interface ToolContext extends PlanOptions {
  readonly sessions: Sessions;
  /** Patches are written one at a time. */
  readonly patches: Turnstile;
  readonly events: EventStream;
  readonly endings: Endings;
  readonly modelOutputTokens: number;
  readonly longestPollMs: number;
  readonly envPolicy: EnvPolicy;
  readonly threadId: string | undefined;
  readonly sessionId: string | undefined;
  readonly version: string | undefined;
}

/** Makes the result of a call from the output that it collected. */
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
