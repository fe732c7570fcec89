import { deferred } from '../../base/index.ts';
import { grouped, type Placement, placementCommand } from './placement-script.ts';
import type { RemotePrograms } from './remote-programs.ts';

interface Waiting {
  readonly placement: Placement;
  readonly done: ReturnType<typeof deferred<void>>;
}

/** Carries placements out on a server, one shell at a time: each takes the placements that were added while the one before it ran. */
export class PlacementQueue {
  readonly #programs: RemotePrograms;
  readonly #waiting: Waiting[] = [];
  #running = false;

  constructor(programs: RemotePrograms) {
    this.#programs = programs;
  }

  /** Rejects with the message of the server's program. The callers bound the queue: each waits for its own placement. */
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
      const printed = await this.#programs.output(placementCommand(batch.map(({ placement }) => placement)));
      const answers = printed.split('\0');
      for (const [at, { done }] of batch.entries()) {
        const [message = '', status] = [answers[2 * at], answers[2 * at + 1]];
        if (status === '0') done.resolve();
        else done.reject(new Error(message.trim() || 'the server did not report whether it was written'));
      }
    } catch (error) {
      for (const { done } of batch) done.reject(error as Error);
    }
  }
}

/** Placements of one shell. Their arguments stay far below the kernel's limit, even with the longest paths. */
const AT_A_TIME = 32;
