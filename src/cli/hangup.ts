import { readFileSync } from 'node:fs';
import type { Logger } from '../base/index.ts';
import { exitNow } from '../host/os/index.ts';

/**
 * Reloads settings on SIGHUP, as daemons do. With a controlling terminal the signal means that the terminal is gone, and stops the
 * server. The terminal is looked up now: it is gone when the signal arrives.
 */
export function reloadOnHangup(reload: () => Promise<void>, log: Logger): void {
  onHangup(() => {
    reload().then(
      () => log.info('settings.reloaded'),
      (error: unknown) => log.error('settings.not_reloaded', { error: (error as Error).message, kept: 'the old ones' }),
    );
  });
}

/** `reloadOnHangup` for a reload that writes its own log. */
export function onHangup(reload: () => void): void {
  if (!hasControllingTerminal()) process.on('SIGHUP', reload);
}

/** Stops a server when it is told to, and when its controlling terminal is gone. */
export function stopBySignals(stop: AbortController): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  if (hasControllingTerminal()) stopOnHangup(stop);
}

export function stopOnHangup(stop: AbortController): void {
  process.on('SIGHUP', () => {
    process.once('exit', exitNow); // Node's own exit aborts when it cannot restore a terminal that is gone
    stop.abort();
  });
}

function hasControllingTerminal(): boolean {
  const afterName = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)!;
  const [, , , , terminal] = afterName.split(' ');
  return terminal !== '0';
}
