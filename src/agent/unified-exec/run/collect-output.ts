import { HeadTail } from '../../../base/index.ts';
import { limits } from '../limits.ts';
import type { CommandProcess } from './command-process.ts';
import type { YieldWindow } from './yield-window.ts';

/**
 * Collects the output of a process until it ends or the window closes, however long the process is silent. After an exit that
 * counts as the end, output of children is collected for a short time.
 */
export async function collectOutput(
  process: CommandProcess,
  window: YieldWindow,
  signal?: AbortSignal,
): Promise<HeadTail> {
  const collected = new HeadTail(limits.outputBytes);
  let overSince: number | undefined;
  for (;;) {
    collected.merge(process.takeUnread());
    if (signal?.aborted) {
      process.putBack(collected);
      throw signal.reason;
    }
    if (process.isOver) overSince ??= performance.now();
    const graceMs =
      overSince === undefined ? Number.POSITIVE_INFINITY : overSince + limits.closeGraceMs - performance.now();
    const timeoutMs = Math.min(window.remainingMs, graceMs);
    if (process.isDrained || timeoutMs <= 0) return collected;
    await process.changes.next({ ...(Number.isFinite(timeoutMs) && { timeoutMs }), signal });
  }
}
