export { type EnvironmentInfo, environmentInfo } from './environment.ts';
export { type ErrorKind, ExecError, type WireError } from './errors.ts';
export { limits } from './limits.ts';
export {
  isMethodName,
  isNotificationName,
  type MethodName,
  methods,
  type Notification,
  type NotificationName,
  notifications,
  type Params,
  type Result,
} from './methods.ts';
export { type NativePath, PathUri } from './path-uri.ts';
export type { EnvPolicy, OutputStream, ProcessIo, RetainedChunk, SignalName } from './process.ts';
export { type PermissionEntry, type PermissionProfile, permissionProfile, type Sandbox, sandbox } from './sandbox.ts';
export { decode, encode, type Method } from './schema.ts';
