export { type AccessToken, AccessTokens, parseTokens, readTokenFile } from '../access/index.ts';
export { type Logger, silentLogger } from '../base/index.ts';
export { Host, type HostOptions } from '../host/index.ts';
export { type ExecServerRuntimePaths, useRuntimePaths } from '../host/os/index.ts';
export type { AuditEvent, AuditFacts, AuditLog } from './audit/audit-log.ts';
export { defaultConfig, type ExecServerConfig } from './config.ts';
export type { ConnectionPoint } from './connection-point.ts';
export {
  DEFAULT_LISTEN_URL,
  ExecServerListenUrlParseError,
  isLoopback,
  type ListenAddress,
  parseListenUrl,
} from './listen-url.ts';
export { Operations, type OperationsOptions } from './operations.ts';
export { type OpsAddress, parseOpsUrl } from './ops/ops-address.ts';
export { type RunMainOptions, runMain } from './run-main.ts';
export { openConnectionPoint, type ServeOptions, serve } from './serve.ts';
export { stopTimes } from './stop-times.ts';
export type { TlsIdentity } from './tls-identity.ts';
export { sha256, type WebSocketAuth } from './websocket-auth.ts';
