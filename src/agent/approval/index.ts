export {
  type ApprovalAnswer,
  type ApprovalDecision,
  type ApprovalRequest,
  type Approver,
  type ChangeApproval,
  type ChangedFile,
  type CommandApproval,
  callbackApprover,
  denyAll,
  type InputApproval,
  type NetworkApproval,
} from './approver.ts';
export { changeLines } from './change-lines.ts';
export { type ChangeRequest, changedPaths } from './change-review.ts';
export { actionsOf, type CommandAction } from './command-actions.ts';
export type { AdditionalPermissions, CommandRequest, Confinement, SandboxPermissions } from './command-request.ts';
export type { InputRequest } from './input-review.ts';
export type { NetworkRequest } from './network-approvals.ts';
export {
  type AttemptOptions,
  type AttemptOutcome,
  Orchestrator,
  type OrchestratorOptions,
  type RunHooks,
} from './orchestrator.ts';
export { type ApprovalPolicy, type GranularApprovals, parseApprovalPolicy } from './policy.ts';
export { blockedRefusal, escalationRefusal } from './refusal-texts.ts';
export { Cancelled, Rejected, type RejectionKind } from './rejection.ts';
export { type Requirement, requirementFor } from './requirement.ts';
export { SessionApprovals } from './session-approvals.ts';
export { type TerminalApproverOptions, terminalApprover } from './terminal-approver.ts';
