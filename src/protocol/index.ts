export { GOING_AWAY, POLICY_VIOLATION, SERVER_STOPPING, TOKEN_EXPIRED, TOKEN_REVOKED } from './close-reasons.ts';
export { type EnvironmentInfo, environmentInfo } from './environment.ts';
export { type ErrorDetails, type ErrorKind, ExecError, type WireError } from './errors.ts';
export { ExecutorFileSystem, type SearchOptions, type SearchOutcome } from './executor-file-system.ts';
export {
  type DirectoryEntry,
  type FileChange,
  type FileChanges,
  type FileMetadata,
  type FileMethod,
  type FileOptions,
  type FileRequests,
  isFileMethod,
  type PathOptions,
  type RepeatOptions,
  type WalkOptions,
  type WalkOutcome,
} from './files.ts';
export { limits } from './limits.ts';
export {
  clientMethods,
  decodeParams,
  isMethodName,
  isNotificationName,
  type MethodName,
  methodCapabilities,
  methods,
  type Notification,
  type NotificationName,
  neededCapabilities,
  notifications,
  type Params,
  type Result,
} from './methods.ts';
export type { NetworkProtocol, NetworkProxy, NetworkProxyRules, StartNetwork } from './network.ts';
export { type NativePath, PathUri } from './path-uri.ts';
export type { Denial, OutputStream, RetainedChunk, SignalName } from './process.ts';
export type { EnvPolicy, ProcessIo } from './process-start.ts';
export { type PermissionEntry, type PermissionProfile, permissionProfile, type Sandbox, sandbox } from './sandbox.ts';
export { refuseUnknownSandboxMembers } from './sandbox-members.ts';
export { decode, encode, type Method } from './schema.ts';
export { type Scope, scopes } from './scopes.ts';
export { urlFault } from './url-fault.ts';
