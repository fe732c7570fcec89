export { type AccessToken, harnessGrant, type RelayRight, type TokenRight, tokenRights } from './access-token.ts';
export { AccessTokens, tokenDigest } from './access-tokens.ts';
export { type Grant, type TokenLimits, unnamedGrant } from './grant.ts';
export { Login, type LoginEnd, type LoginState, unnamedLogin } from './login.ts';
export { Logins } from './logins.ts';
export { type HarnessFacts, harnessFacts, relayedGrant } from './relayed-grant.ts';
export { claimedScopes, signedGrant, signedName } from './signed-grant.ts';
export { isEnvironmentPattern, isTokenName, parseTokens, type TokenEntry } from './token-entries.ts';
export { readTokenFile, showTokenFile, updateTokenFile } from './token-file.ts';
