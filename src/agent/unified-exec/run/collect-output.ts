import { HeadTail } from '../../../base/index.ts';
import { limits } from '../limits.ts';
import type { CommandProcess } from './command-process.ts';
import type { YieldWindow } from './yield-window.ts';

/**
 * Watches a process until its output has ended or the window closes; silence is no reason to stop. Behind an exit that
 * counts as the end, streams that a child keeps open get a short grace.
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
    const grace =
      overSince === undefined ? Number.POSITIVE_INFINITY : overSince + limits.closeGraceMs - performance.now();
    const timeoutMs = Math.min(window.remainingMs, grace);
    if (process.isDrained || timeoutMs <= 0) return collected;
    await process.changes.next({ ...(Number.isFinite(timeoutMs) && { timeoutMs }), signal });
  }
}
