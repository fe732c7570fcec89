export { type Grant, type TokenLimits, unnamedGrant } from './grant.ts';
export { Login, type LoginState, unnamedLogin } from './login.ts';
export { signedGrant } from './signed-grant.ts';
