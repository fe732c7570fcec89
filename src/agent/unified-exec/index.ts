export { Host, type HostOptions } from '../../server/index.ts';
export type { ExecCommandArguments, WriteStdinArguments } from './arguments/tool-arguments.ts';
export { type ObjectSchema, resultSchema, type ToolDefinition } from './arguments/tool-schemas.ts';
export {
  type BackendStartOptions,
  type ExecBackend,
  type ExecProcess,
  remoteBackend,
} from './backends/exec-backend.ts';
export { type LocalBackendOptions, localBackend } from './backends/local-backend.ts';
export type { NetworkAnswer, NetworkQuestion, NetworkRequestListener } from './backends/network-questions.ts';
export type { CallContext } from './call-context.ts';
export type { PermittedOutcome } from './changes/file-changes.ts';
export { Environments } from './plan/environments.ts';
export { confinementOf, type EnvironmentSettings, sandboxFor } from './plan/permissions.ts';
export { permissionsOf, type SandboxMode, sandboxModes } from './plan/sandbox-mode.ts';
export {
  type EventsMissed,
  type ExecCommandBegin,
  type ExecCommandEnd,
  type ExecCommandOutputDelta,
  type ExecEvent,
  type ExecSource,
  eventLine,
  type TerminalInteraction,
} from './report/exec-event.ts';
export type { StructuredResult } from './report/response.ts';
export type { ToolResult } from './report/tool-result.ts';
export { type ChangeArguments, type SessionSummary, UnifiedExec, type UnifiedExecOptions } from './tools.ts';
