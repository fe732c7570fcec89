import { addon, nativeStatus } from './addon.ts';
import { errorName } from './error-name.ts';
import { wakeGuardians } from './guardian.ts';
import { nativeFile } from './native-file.ts';

/**
 * Where this is the first process of a container, it makes way for `native/family/init.c`, which starts it again as a child and reaps
 * the orphans of commands. To be called before anything is opened or taken out of the environment. Returns when there is no need.
 */
export function runUnderInit(): void {
  if (process.pid !== 1 || !nativeStatus().ready) return;
  const argv = [nativeFile('init'), process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const errno = addon().execute(Buffer.from(argv.map((word) => `${word}\0`).join('')));
  throw new Error(`${argv[0]} cannot be started: ${errorName(errno)}`);
}

/** Ends this process at once; guardians end what it leaves behind. `process.exit` waits for threads that work. */
export function exitNow(code: number): never {
  if (!nativeStatus().ready) return process.exit(code); // a client of other servers, with neither threads nor guardians
  wakeGuardians();
  return addon().exitNow(code);
}
