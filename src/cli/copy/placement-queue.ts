import { deferred } from '../../base/index.ts';
import type { RemoteCommands } from '../commands/remote-commands.ts';
import { grouped, type Placement, placementCommand } from './placement-script.ts';

interface Waiting {
  readonly placement: Placement;
  readonly done: ReturnType<typeof deferred<void>>;
}

/** Carries placements out on a server: one shell at a time takes all that came while the one before it ran. */
export class PlacementQueue {
  readonly #commands: RemoteCommands;
  readonly #waiting: Waiting[] = [];
  #running = false;

  constructor(commands: RemoteCommands) {
    this.#commands = commands;
  }

  /** Rejects with what the server's program says. Callers bound the queue: each waits for its own placement. */
  add(placement: Placement): Promise<void> {
    const done = deferred();
    this.#waiting.push({ placement, done });
    void this.#work();
    return done.promise;
  }

  async #work(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#waiting.length > 0) await this.#carryOut(this.#waiting.splice(0, AT_A_TIME));
    this.#running = false;
  }

  async #carryOut(waiting: readonly Waiting[]): Promise<void> {
    const batch = grouped(waiting, ({ placement }) => placement);
    try {
      const printed = await this.#commands.output(placementCommand(batch.map(({ placement }) => placement)));
      const answers = printed.split('\0');
      for (const [at, { done }] of batch.entries()) {
        const [said = '', status] = [answers[2 * at], answers[2 * at + 1]];
        if (status === '0') done.resolve();
        else done.reject(new Error(said.trim() || 'the server did not say whether it was written'));
      }
    } catch (error) {
      for (const { done } of batch) done.reject(error as Error);
    }
  }
}

/** Arguments of one shell: far below what a kernel allows, with paths of any length. */
const AT_A_TIME = 32;
