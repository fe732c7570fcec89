import type { NetworkProtocol } from '../../protocol/index.ts';
import type { CommandAction } from './command-actions.ts';
import type { AdditionalPermissions, SandboxPermissions } from './command-request.ts';

/** `acceptWithRule` and `denyWithRule` also write a rule, so that the question is not asked again. */
export type ApprovalDecision = 'accept' | 'acceptForSession' | 'acceptWithRule' | 'denyWithRule' | 'decline' | 'cancel';

/** The members that all kinds of questions have. */
export interface ApprovalQuestion {
  /** Unique to this question: one call can ask several. */
  readonly approvalId: string;
  /** The tool call the question is about. */
  readonly itemId: string;
  readonly turnId?: string;
  readonly environmentId: string;
  readonly startedAtMs: number;
  readonly reason?: string;
  /** The decisions to offer. Other decisions that make sense for the kind are accepted too. */
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
  /** What the command does, as far as it is known. */
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
  /** The directory that the terminal was started in; its shell may have left it. */
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
  /** The new path of a moved file. */
  readonly movedTo?: string;
  /** The changed lines and their context, each behind `+`, `-` or a blank. */
  readonly diff: readonly string[];
}

/** May these files be changed? */
export interface ChangeApproval extends ApprovalQuestion {
  readonly kind: 'fileChange';
  /** The tool and the paths as one line. */
  readonly command: string;
  readonly changes: readonly ChangedFile[];
  /** The paths that the sandbox does not let be written; accepting permits it. */
  readonly outside: readonly string[];
}

export type ApprovalRequest = CommandApproval | InputApproval | NetworkApproval | ChangeApproval;

export interface ApprovalAnswer {
  readonly decision: ApprovalDecision;
  /** The reason, where a decision was declined for another one than the user's wish. */
  readonly reason?: string;
}

/** Asks the user. An aborted signal withdraws the question. */
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
  reason: 'this program has no user to ask',
}));
