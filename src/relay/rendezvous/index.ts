export { AuditLog } from './api/audit-log.ts';
export { type RendezvousLimits, rendezvousLimits } from './limits.ts';
export { type ClusterOptions, type RendezvousOptions, RendezvousService } from './service.ts';
export { FileTokens, freshTokens } from './trust/file-tokens.ts';
export { anyOf, type TokenVerifier } from './trust/identity.ts';
export { parseSecrets, SigningKeys } from './trust/signing-keys.ts';
