import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const RETRY_MS = 10;
/** Holders need milliseconds; a lock held this long is reported. */
const PATIENCE_MS = 5_000;
/** A lock this old belongs to a dead process, even if another process has its number by now. */
const STALE_MS = 30_000;

/** Locks a path among processes by creating a file. The lock of a dead process is taken over. */
export async function lockFile(path: string): Promise<AsyncDisposable> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await create(path))) {
    if (await isAbandoned(path)) await rm(path, { force: true });
    else if (performance.now() > deadline)
      throw new Error(`${path} is held by another process; remove the file if that process has ended`);
    else await delay(RETRY_MS);
  }
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

async function create(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > STALE_MS) return true;
    const holder = Number(await readFile(path, 'utf8'));
    return holder > 0 && !isAlive(holder); // no number yet: it was created a moment ago
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false; // released in the meantime
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
