import { constants } from 'node:os';
import { familyMark, ownSessions, SERVER_MASK } from './family-mark.ts';
import type { NativeChild } from './native-child.ts';
import { nativeFile } from './native-file.ts';
import { spawnFree } from './spawn.ts';

/**
 * Starts the guardian: a tiny process that kills everything the server has started when this process ends without a word.
 * It is started again if it dies while held; disposing it lets it go without killing. One that cannot be started is an error, or
 * told to `onFailure` and tried again until it stands.
 */
export async function startGuardian(server: number, onFailure?: (error: unknown) => void): Promise<AsyncDisposable> {
  const guardian = new Guardian(server);
  await guardian.start().catch((error) => {
    if (!onFailure) throw error;
    onFailure(error);
    guardian.keepStanding();
  });
  return guardian;
}

class Guardian implements AsyncDisposable {
  readonly #families: readonly string[];
  /** Shows others that the number of the server is taken. */
  readonly #mark: bigint;
  /** Settles when it stands again or is not wanted any more. */
  #restarted: Promise<void> | undefined;
  #wake = (): void => {};
  #child: NativeChild | undefined;
  #held = true;

  constructor(server: number) {
    this.#families = [familyMark(server, 0, 0).toString(16), SERVER_MASK.toString(16)];
    this.#mark = familyMark(server, ownSessions.guardian, 0);
  }

  async start(): Promise<void> {
    const child = spawnFree({
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
        void child.exited.then(() => this.keepStanding());
        return;
      }
    }
    throw new Error('the guardian ended before it was ready');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#held) return;
    this.#held = false;
    this.#wake();
    await this.#restarted;
    this.#child?.hold(true);
    // One byte dismisses it; an end without a byte is the death of the server.
    await this.#child?.stdin?.write(Buffer.from('.')).catch(() => undefined); // already gone
    this.#child?.closeOutputs();
    const patience = setTimeout(() => this.#child?.signal(constants.signals.SIGKILL), DISMISSAL_MS); // it may be stopped
    await this.#child?.exited;
    clearTimeout(patience);
  }

  /** Starts it again until it stands: while there is no process or descriptor for it, parent-death signals are all there is. */
  keepStanding(): void {
    this.#restarted = this.#restart();
  }

  async #restart(): Promise<void> {
    while (this.#held) {
      try {
        return await this.start();
      } catch {
        // no process or descriptor for it: again a little later
        await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, RETRY_MS).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

const living = new Set<NativeChild>();

/** Has guardians that were stopped go on: this process ends, and they have work to do. */
export function wakeGuardians(): void {
  for (const child of living) child.signal(constants.signals.SIGCONT);
}

/** How long it may take to go; nothing of the server lives any more. */
const DISMISSAL_MS = 100;
/** How long after it could not be started this is tried again. */
const RETRY_MS = 500;
