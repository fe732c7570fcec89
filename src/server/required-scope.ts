import type { Grant, Login, LoginEnd } from '../access/index.ts';
import { ExecError, type MethodName, methods, type Scope, TOKEN_EXPIRED, TOKEN_REVOKED } from '../protocol/index.ts';

/** What a client is told when its login has ended. */
export const endReasons: Readonly<Record<LoginEnd, string>> = { revoked: TOKEN_REVOKED, expired: TOKEN_EXPIRED };

/** What the client may do now; throws once its login has ended, also while the connection is being closed. */
export function presentGrant({ state }: Login): Grant {
  if (state.phase === 'granted') return state.grant;
  throw new ExecError('forbidden', endReasons[state.phase]);
}

/** Throws unless the grant includes the scope that the method table names. */
export function requireMethodScope(grant: Grant, method: MethodName): void {
  const { scope } = methods[method];
  if (scope !== 'any') requireScope(grant, scope, method);
}

/** Throws unless the grant includes a scope; `what` needs it. */
export function requireScope({ scopes, tokenName }: Grant, scope: Scope, what: string): void {
  if (scopes.has(scope)) return;
  const holder = tokenName === undefined ? 'this connection' : `token ${tokenName}`;
  throw new ExecError('forbidden', `${what} needs scope ${scope}, which ${holder} does not have`);
}
