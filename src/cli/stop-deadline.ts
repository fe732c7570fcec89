import { type Logger, onAbort } from '../base/index.ts';
import { exitNow } from '../host/os/index.ts';
import { defaultConfig, stopTimes } from '../server/index.ts';
import { stopOnHangup } from './hangup.ts';

/**
 * Ends this process when an orderly stop takes longer than the grace: a copy on a thread, or a child that a tracer holds, may never
 * end. The guardian kills what is left then.
 */
export function endBy(
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

/** Stops a program that serves on pipes, also with its terminal, and ends it when a client that does not read keeps it from stopping. */
export function stopWhenTold(stop: AbortController, options: { exitCode: () => number; log: Logger }): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  stopOnHangup(stop);
  endBy(stop.signal, { ...options, graceMs: () => defaultConfig.shutdownGracePeriodMs });
}
