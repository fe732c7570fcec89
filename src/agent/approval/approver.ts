import type { NetworkProtocol } from '../../protocol/index.ts';
import type { CommandAction } from './command-actions.ts';
import type { AdditionalPermissions, SandboxPermissions } from './command-request.ts';

/** `acceptWithRule` and `denyWithRule` also write the answer down for the next time. */
export type ApprovalDecision = 'accept' | 'acceptForSession' | 'acceptWithRule' | 'denyWithRule' | 'decline' | 'cancel';

export interface ApprovalQuestion {
  /** Unique to this question: one call can raise several. */
  readonly approvalId: string;
  /** The tool call the question is about. */
  readonly itemId: string;
  readonly turnId?: string;
  readonly environmentId: string;
  readonly startedAtMs: number;
  readonly reason?: string;
  /** The decisions to offer; any other one is understood as well if it makes sense for the kind. */
  readonly availableDecisions: readonly ApprovalDecision[];
}

/** May this command run? */
export interface CommandApproval extends ApprovalQuestion {
  readonly kind: 'command';
  /** The command as one line that a shell would read back. */
  readonly command: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tty: boolean;
  readonly sandboxPermissions: SandboxPermissions;
  readonly additionalPermissions?: AdditionalPermissions;
  /** What the command does, as far as it can be told. */
  readonly actions: readonly CommandAction[];
  /** The prefix that `acceptWithRule` allows from now on. */
  readonly proposedRule?: readonly string[];
}

/** May this text be typed into a terminal that no sandbox confines? */
export interface InputApproval extends ApprovalQuestion {
  readonly kind: 'writeStdin';
  /** The call as one line. */
  readonly command: string;
  readonly sessionId: number;
  readonly input: string;
  /** Where the terminal was started; it may be elsewhere by now. */
  readonly cwd: string;
}

/** May a command reach this host? */
export interface NetworkApproval extends ApprovalQuestion {
  readonly kind: 'network';
  readonly host: string;
  readonly port: number;
  readonly protocol: NetworkProtocol;
  readonly command?: string;
  readonly argv?: readonly string[];
  readonly cwd?: string;
}

/** The change of one file. Paths are absolute. */
export interface ChangedFile {
  readonly kind: 'add' | 'update' | 'delete' | 'move';
  readonly path: string;
  /** Where a file goes that moves. */
  readonly movedTo?: string;
  /** The new text, line by line, each behind `+`, `-` or a blank. */
  readonly diff: readonly string[];
}

/** May these files be changed? */
export interface ChangeApproval extends ApprovalQuestion {
  readonly kind: 'fileChange';
  /** The tool and the paths as one line. */
  readonly command: string;
  readonly changes: readonly ChangedFile[];
  /** Those of the paths that the sandbox does not let be written: to accept is to permit it. */
  readonly outside: readonly string[];
}

export type ApprovalRequest = CommandApproval | InputApproval | NetworkApproval | ChangeApproval;

export interface ApprovalAnswer {
  readonly decision: ApprovalDecision;
  /** Why it was declined, if not because the user wanted so. */
  readonly reason?: string;
}

/** Answers questions for the user. An aborted signal withdraws the question. */
export interface Approver {
  ask(request: ApprovalRequest, signal?: AbortSignal): Promise<ApprovalAnswer>;
}

/** An approver made of a function. */
export function callbackApprover(
  ask: (request: ApprovalRequest, signal?: AbortSignal) => ApprovalAnswer | Promise<ApprovalAnswer>,
): Approver {
  return { ask: async (request, signal) => ask(request, signal) };
}

/** Declines everything, for hosts without a user to ask. */
export const denyAll: Approver = callbackApprover(() => ({
  decision: 'decline',
  reason: 'questions cannot be put here',
}));
