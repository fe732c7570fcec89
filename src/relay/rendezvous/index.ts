export { AuditLog } from './api/audit-log.ts';
export { type RendezvousLimits, rendezvousLimits } from './limits.ts';
export { type ClusterOptions, type RendezvousOptions, RendezvousService } from './service.ts';
export { type AccessToken, AccessTokens, freshTokens, parseTokens, type TokenVerifier } from './trust/access-tokens.ts';
export { parseSecrets, SigningKeys } from './trust/signing-keys.ts';
