import { constants } from 'node:os';
import { familyMark, ownSessions, SERVER_MASK } from './family-mark.ts';
import type { NativeChild } from './native-child.ts';
import { nativeFile } from './native-file.ts';
import { spawnSurvivor } from './spawn.ts';

/**
 * Starts the guardian: a small process that kills everything the server has started when this process dies. It is started again if
 * it dies; disposing it ends it without killing. If it cannot be started, this throws, or calls `onFailure` and tries again until
 * it runs.
 */
export async function startGuardian(server: number, onFailure?: (error: unknown) => void): Promise<AsyncDisposable> {
  const guardian = new Guardian(server);
  await guardian.start().catch((error) => {
    if (!onFailure) throw error;
    onFailure(error);
    guardian.keepRunning();
  });
  return guardian;
}

class Guardian implements AsyncDisposable {
  readonly #families: readonly string[];
  /** Shows other servers that this server's number is in use. */
  readonly #mark: bigint;
  /** Settles when the guardian runs again, or is disposed. */
  #restarted: Promise<void> | undefined;
  #endPause = (): void => {};
  #child: NativeChild | undefined;
  #isWanted = true;

  constructor(server: number) {
    this.#families = [familyMark(server, 0, 0).toString(16), SERVER_MASK.toString(16)];
    this.#mark = familyMark(server, ownSessions.guardian, 0);
  }

  async start(): Promise<void> {
    const child = spawnSurvivor({
      argv: [nativeFile('guardian'), ...this.#families],
      cwd: '/',
      env: {},
      io: { type: 'pipe', stdin: 'open' },
      mark: this.#mark,
    });
    this.#child = child;
    living.add(child);
    void child.exited.then(() => living.delete(child));
    for await (const event of child.events) {
      if (event.type === 'output') {
        child.hold(false);
        void child.exited.then(() => this.keepRunning());
        return;
      }
    }
    throw new Error('the guardian ended before it was ready');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.#endPause();
    await this.#restarted;
    this.#child?.hold(true);
    // One byte dismisses it; if stdin closes without a byte, the server has died.
    await this.#child?.stdin?.write(Buffer.from('.')).catch(() => undefined); // it has ended already
    this.#child?.closeOutputs();
    const overdue = setTimeout(() => this.#child?.signal(constants.signals.SIGKILL), DISMISSAL_MS); // it may be stopped
    await this.#child?.exited;
    clearTimeout(overdue);
  }

  /** Starts the guardian again until it runs. While no process or descriptor is free for it, only parent-death signals end children. */
  keepRunning(): void {
    this.#restarted = this.#restart();
  }

  async #restart(): Promise<void> {
    while (this.#isWanted) {
      try {
        return await this.start();
      } catch {
        // no process or descriptor is free: try again later
        await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS).unref();
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const living = new Set<NativeChild>();

/** Continues guardians that were stopped, as this process ends and they have to kill what it started. */
export function wakeGuardians(): void {
  for (const child of living) child.signal(constants.signals.SIGCONT);
}

/** How long a dismissed guardian may take to end; it has nothing to kill any more. */
const DISMISSAL_MS = 100;
/** The time between two attempts to start it. */
const RETRY_MS = 500;
