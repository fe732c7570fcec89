export { isProtectedVariable } from './child-environment.ts';
export { ManagedProcess, type ManagedProcessOptions, type ProcessAudience } from './managed-process.ts';
export { type Preparations, ProcessTable, type ProcessTableOptions } from './process-table.ts';
export type { ProcessNetwork } from './start-request.ts';
export type { ProcessState } from './state.ts';
