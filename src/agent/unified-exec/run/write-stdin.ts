import { Rejected } from '../../approval/index.ts';
import type { WriteStdinArguments } from '../arguments/tool-arguments.ts';
import type { CallContext, ToolContext } from '../call-context.ts';
import { limits } from '../limits.ts';
import { callResult } from '../report/response.ts';
import { ToolError, type ToolResult } from '../report/tool-result.ts';
import { collectOutput } from './collect-output.ts';
import type { CommandSession } from './command-session.ts';
import { inputYieldMs } from './yield-window.ts';

/** Types into a session if there is input, and collects its output for a while. */
export async function writeStdin(
  toolContext: ToolContext,
  args: WriteStdinArguments,
  context: CallContext,
): Promise<ToolResult> {
  const { sessions, modelOutputTokens, longestPollMs } = toolContext;
  const { session_id, chars = '', yield_time_ms, max_output_tokens } = args;
  const session = requireSession(toolContext, session_id);
  using _turn = await session.mutex.lock(context.signal);
  if (sessions.get(session_id) !== session) throw unknownSession(session_id); // ended while this call waited for another one
  sessions.touch(session);
  const { process } = session;
  if (chars !== '') await send(toolContext, session, chars, context);
  const window = process.openWindow(inputYieldMs(yield_time_ms, chars !== '', longestPollMs));
  const collected = await collectOutput(process, window, context.signal);
  const wallTimeMs = window.elapsedMs;
  if (process.isOver) await session.scope?.settle(limits.networkGraceMs);
  const { isOver, facts } = process;
  if (chars !== '' || !isOver) session.item.announceInteraction(chars);
  if (isOver) {
    sessions.free(session_id, session);
    void process.terminate();
  }
  if (facts.failureMessage !== undefined) {
    throw new ToolError(`write_stdin failed: Unified exec process failed: ${facts.failureMessage}`);
  }
  const end = isOver ? { exitCode: facts.exitCode } : { sessionId: session_id };
  return callResult({ wallTimeMs, ...end }, collected, max_output_tokens, modelOutputTokens);
}

/** The session with this number; throws the text for the model when there is none. */
export function requireSession({ sessions }: ToolContext, id: number): CommandSession {
  const session = sessions.get(id);
  if (!session) throw unknownSession(id);
  return session;
}

const unknownSession = (id: number): ToolError => new ToolError(`write_stdin failed: Unknown process id ${id}`);

async function send(
  toolContext: ToolContext,
  session: CommandSession,
  chars: string,
  context: CallContext,
): Promise<void> {
  const { process, tty } = session;
  if (process.facts.hasExited) return; // children may still print, but the process that reads the terminal has exited
  if (!tty && chars !== INTERRUPT) throw new ToolError(NO_STDIN);
  if (!tty) await process.interrupt();
  else {
    await approve(toolContext, session, chars, context);
    if ((await process.write(chars)) === 'refused') throw new ToolError('write_stdin failed: failed to write to stdin');
  }
  await process.untilOver(limits.afterInputMs);
}

/** Has the user approve input for a command outside the sandbox, as it is as powerful as a command there. */
async function approve(
  { orchestrator }: ToolContext,
  session: CommandSession,
  input: string,
  { callId = crypto.randomUUID(), turnId, signal }: CallContext,
): Promise<void> {
  if (!orchestrator) return;
  const { id: sessionId, callId: itemId, environmentId, cwd, tty, sandboxed, confinement } = session;
  const about = { itemId, sessionId, environmentId, cwd, tty, sandboxed, confinement };
  const turn = turnId === undefined ? {} : { turnId };
  try {
    await orchestrator.approveInput({ callId, ...turn, ...about, input }, signal ? { signal } : {});
  } catch (error) {
    if (error instanceof Rejected) throw new ToolError(`write_stdin rejected: ${error.message}`);
    throw error;
  }
}

/** What Ctrl-C types. */
const INTERRUPT = '\u0003';

const NO_STDIN =
  'write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open';
