import { limits } from '../limits.ts';
import type { CommandSession } from './command-session.ts';

/** Tells of the end of a session when everything else about it has been told, which may be long after any call. */
export async function endItem(session: CommandSession): Promise<void> {
  const { process, item, scope, turnstile } = session;
  while (!process.isOver) await process.changes.next();
  const deadline = performance.now() + limits.trailingOutputMs;
  while (!process.isDrained && performance.now() < deadline) {
    await process.changes.next({ timeoutMs: deadline - performance.now() });
  }
  await scope?.settle(limits.networkGraceMs);
  using _turn = await turnstile.enter();
  if (!session.isSuperseded) item.over(process);
}
