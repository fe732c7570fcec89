export { inheritable } from './child-environment.ts';
export { ManagedProcess, type ProcessAudience } from './managed-process.ts';
export { type Preparations, ProcessTable } from './process-table.ts';
