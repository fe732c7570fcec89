import type { Grant, Login } from '../access/index.ts';
import { ExecError, type MethodName, methods } from '../protocol/index.ts';

const ENDED = { revoked: 'the token was revoked', expired: 'the token has expired' } as const;

/** What the client may do now; throws once its login has ended, also while the connection is being closed. */
export function presentGrant({ state }: Login): Grant {
  if (state.phase === 'granted') return state.grant;
  throw new ExecError('forbidden', ENDED[state.phase]);
}

/** Throws unless the grant includes the scope that the method table names. */
export function requireScope({ scopes, tokenName }: Grant, method: MethodName): void {
  const { scope } = methods[method];
  if (scope === 'any' || scopes.has(scope)) return;
  const holder = tokenName === undefined ? 'this connection' : `token ${tokenName}`;
  throw new ExecError('forbidden', `${method} needs scope ${scope}, which ${holder} does not have`);
}
