import { addon, nativeStatus } from './addon.ts';
import { errorName } from './error-name.ts';
import { wakeGuardians } from './guardian.ts';
import { nativeFile } from './native-file.ts';

/**
 * Replaces the first process of a container by `native/family/init.c`, which starts this program again as a child and reaps the
 * orphans of commands. To be called before any file is opened or variable removed. Returns in any other process.
 */
export function runUnderInit(): void {
  if (process.pid !== 1 || !nativeStatus().ready) return;
  const argv = [nativeFile('init'), process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const errno = addon().execute(Buffer.from(argv.map((word) => `${word}\0`).join('')));
  throw new Error(`${argv[0]} cannot be started: ${errorName(errno)}`);
}

/** Ends this process at once, as `process.exit` waits for busy threads. Guardians kill the processes that it leaves. */
export function exitNow(code: number): never {
  if (!nativeStatus().ready) return process.exit(code); // a client of other servers has neither busy threads nor guardians
  wakeGuardians();
  return addon().exitNow(code);
}
