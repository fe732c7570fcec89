export type { CallContext } from './call-context.ts';
export { Environments } from './environments.ts';
export { type BackendStartOptions, type ExecBackend, type ExecProcess, remoteBackend } from './exec-backend.ts';
export {
  type EventsMissed,
  type ExecCommandBegin,
  type ExecCommandEnd,
  type ExecCommandOutputDelta,
  type ExecEvent,
  type ExecSource,
  eventLine,
  type TerminalInteraction,
} from './exec-event.ts';
export type { PermittedOutcome } from './file-changes.ts';
export { type LocalBackendOptions, localBackend } from './local-backend.ts';
export type { NetworkAnswer, NetworkQuestion, NetworkRequestListener } from './network-questions.ts';
export { confinementOf, type EnvironmentSettings, sandboxFor } from './permissions.ts';
export type { StructuredResult } from './response.ts';
export { permissionsOf, type SandboxMode, sandboxModes } from './sandbox-mode.ts';
export type { ExecCommandArguments, WriteStdinArguments } from './tool-arguments.ts';
export type { ToolResult } from './tool-result.ts';
export { type ObjectSchema, resultSchema, type ToolDefinition } from './tool-schemas.ts';
export { type ChangeArguments, type SessionSummary, UnifiedExec, type UnifiedExecOptions } from './unified-exec.ts';
