import type { Grant } from '../access/index.ts';
import { ExecError } from '../protocol/index.ts';

/** Throws when the holder of the token has as many sessions as it may have at a time. */
export function requireSessionRoom({ tokenName, limits }: Grant, count: () => number): void {
  const { sessions: most } = limits;
  if (most === undefined || count() < most) return;
  const advice = 'close one, or wait until one without a connection has ended';
  throw new ExecError(
    'forbidden',
    `token ${tokenName} may have ${most} ${most === 1 ? 'session' : 'sessions'} at a time: ${advice}`,
  );
}

/** Throws when the holder of the token has as many processes, over all its sessions, as may run at a time. */
export function requireProcessRoom({ tokenName, limits }: Grant, count: () => number): void {
  const { processes: most } = limits;
  if (most === undefined || count() < most) return;
  throw new ExecError(
    'forbidden',
    `token ${tokenName} may have ${most} ${most === 1 ? 'process' : 'processes'} at a time`,
  );
}
