import { joinWords } from '../rules/index.ts';
import type { InputApproval } from './approver.ts';
import { type Confinement, isConfined } from './command-request.ts';
import { type ApprovalPolicy, mayAsk } from './policy.ts';
import { unaskableRefusal } from './refusal-texts.ts';

/** Text for a running command. */
export interface InputRequest {
  /** The call that brings the text. */
  readonly callId: string;
  /** The call that started the command. */
  readonly itemId: string;
  readonly turnId?: string;
  readonly environmentId: string;
  readonly sessionId: number;
  /** Where the command was started. */
  readonly cwd: string;
  readonly tty: boolean;
  readonly input: string;
  /** Whether the command runs in a sandbox. */
  readonly sandboxed: boolean;
  /** The sandbox that would confine the command now. */
  readonly confinement: Confinement;
}

const REASON =
  'Send input to an existing terminal. This terminal was launched outside the sandbox, bypassing any managed network proxy. ' +
  "The cwd is its launch directory; the terminal's current directory and state may have changed.";

/** Bytes that a user can review; the limit is the reference's. */
const LARGEST_REVIEW = 8_000;

/** Whether the user has to approve input: text for a command that runs outside the sandbox, unless it is only an interrupt. */
export function needsReview({ input, tty, sandboxed, confinement }: InputRequest): boolean {
  const isInterrupt = !tty && input === '\x03';
  return input !== '' && !isInterrupt && !sandboxed && isConfined(confinement);
}

/** Why input is refused without a question; undefined when the user can be asked. */
export function inputRefusal(request: InputRequest, policy: ApprovalPolicy): string | undefined {
  const { input, confinement } = request;
  if (confinement.hasDeniedReads) {
    return 'this terminal cannot enforce the current denied-read restrictions; start a new terminal';
  }
  if (input.includes('\0')) return 'terminal input contains a NUL byte and cannot be reviewed safely';
  if (reviewSize(request) > LARGEST_REVIEW) {
    return 'terminal input and permission details are too large to review safely; use a smaller input or start a new terminal with fewer grants';
  }
  if (!mayAsk(policy, 'sandbox_approval')) return unaskableRefusal(policy, 'sandbox_approval', false);
  return undefined;
}

/** The bytes that the user has to review, as Codex counts them. */
function reviewSize({ environmentId, sessionId, input, cwd, tty }: InputRequest): number {
  const sandbox_permissions = 'require_escalated';
  const call = { tool: 'write_stdin', environment_id: environmentId, session_id: sessionId, chars: input, cwd };
  return Buffer.byteLength(JSON.stringify({ ...call, sandbox_permissions, tty }, null, 2) + REASON);
}

/** The question whether text may be typed. Its id is that of the call. */
export function inputQuestion(request: InputRequest): InputApproval {
  const { callId, itemId, turnId, environmentId, sessionId, cwd, input } = request;
  return {
    kind: 'writeStdin',
    approvalId: callId,
    itemId,
    ...(turnId !== undefined && { turnId }),
    environmentId,
    startedAtMs: Date.now(),
    reason: REASON,
    command: joinWords(['write_stdin', '--session-id', String(sessionId), input]),
    sessionId,
    input,
    cwd,
    availableDecisions: ['accept', 'cancel'],
  };
}
