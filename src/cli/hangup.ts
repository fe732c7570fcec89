import { readFileSync } from 'node:fs';
import type { Logger } from '../base/index.ts';
import { exitNow } from '../host/os/index.ts';

/**
 * Has SIGHUP reload what can change while serving, as daemons do. With a controlling terminal the signal keeps its first
 * meaning, the end of that terminal, and stops the server. Asked at the start: a terminal that hangs up is gone by then.
 */
export function reloadOnHangup(reload: () => Promise<void>, log: Logger): void {
  onHangup(() => {
    reload().then(
      () => log.info('settings.reloaded'),
      (error: unknown) => log.error('settings.not_reloaded', { error: (error as Error).message, kept: 'the old ones' }),
    );
  });
}

/** The same for a reload that reports by itself. */
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
    process.once('exit', exitNow); // Node aborts where it cannot set back a terminal that is gone
    stop.abort();
  });
}

function hasControllingTerminal(): boolean {
  const afterName = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)!;
  const [, , , , terminal] = afterName.split(' ');
  return terminal !== '0';
}
