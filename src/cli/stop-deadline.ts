import { type Logger, onAbort } from '../base/index.ts';
import { exitNow } from '../host/os/index.ts';
import { defaultConfig, stopTimes } from '../server/index.ts';
import { stopOnHangup } from './hangup.ts';

/**
 * Exits when an orderly stop takes longer than the grace period: a copy on a thread, or a child that a tracer holds, may never end.
 * The guardian then kills the remaining processes.
 */
export function exitAfterGrace(
  signal: AbortSignal,
  options: { graceMs: () => number; exitCode: () => number; log: Logger },
): void {
  const { exitCode, log } = options;
  onAbort(signal, () => {
    const graceMs = options.graceMs();
    const end = (): void => {
      log.warn('server.stop_cut_short', { graceMs });
      exitNow(exitCode());
    };
    setTimeout(end, stopTimes(graceMs).endMs).unref();
  });
}

/** Stops a server of tools on SIGTERM, SIGINT and SIGHUP, and exits if the stop takes too long, as when its client does not read. */
export function stopToolServerBySignals(stop: AbortController, options: { exitCode: () => number; log: Logger }): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  stopOnHangup(stop);
  exitAfterGrace(stop.signal, { ...options, graceMs: () => defaultConfig.shutdownGracePeriodMs });
}
