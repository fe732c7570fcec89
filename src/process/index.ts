export { inheritable } from './child-environment.ts';
export { ManagedProcess } from './managed-process.ts';
export type { ProcessAudience } from './process-audience.ts';
export { type Preparations, ProcessTable } from './process-table.ts';
