export { Environments } from './environments.ts';
export { type ExecBackend, type ExecProcess, remoteBackend } from './exec-backend.ts';
export { type LocalBackendOptions, localBackend } from './local-backend.ts';
