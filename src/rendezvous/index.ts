export { type AccessToken, AccessTokens, freshTokens, parseTokens, type TokenVerifier } from './access-tokens.ts';
export { AuditLog } from './audit-log.ts';
export { type RendezvousLimits, rendezvousLimits } from './limits.ts';
export { type ClusterOptions, type RendezvousOptions, RendezvousService } from './rendezvous-service.ts';
export { parseSecrets, SigningKeys } from './signing-keys.ts';
