import type { Mutex } from '../../base/index.ts';
import type { EnvPolicy } from '../../protocol/index.ts';
import type { CommandPlanOptions } from './plan/command-plan.ts';
import type { EventStream } from './report/event-stream.ts';
import type { CommandSessions } from './run/command-sessions.ts';
import type { EndEvents } from './run/end-events.ts';

/** The origin of a call, and a signal that ends waiting for its result; a command that runs by then goes on. */
export interface CallContext {
  readonly callId?: string;
  readonly turnId?: string;
  readonly signal?: AbortSignal;
}

/** State and settings of one conversation, which all its calls share. */
export interface ToolContext extends CommandPlanOptions {
  readonly sessions: CommandSessions;
  /** Lets one patch be written at a time. */
  readonly patchMutex: Mutex;
  readonly events: EventStream;
  readonly endEvents: EndEvents;
  readonly modelOutputTokens: number;
  readonly longestPollMs: number;
  readonly envPolicy: EnvPolicy;
  readonly threadId: string | undefined;
  readonly sessionId: string | undefined;
  readonly version: string | undefined;
}
