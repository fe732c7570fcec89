import { Changes } from '../base/index.ts';

/** Which queue a request waits in, so that a stop is never stuck behind what it stops. */
export type Lane = 'ordinary' | 'control';

type Task = () => void | Promise<void>;

/**
 * Lets a number of tasks per lane run at a time and keeps the rest waiting in order. With a width of one there is
 * a single lane: strictly one after the other.
 */
export class Lanes {
  readonly #width: number;
  readonly #limit: number;
  readonly #running = { ordinary: 0, control: 0 };
  readonly #waiting: Record<Lane, Task[]> = { ordinary: [], control: [] };
  readonly #room = new Changes();
  #total = 0;

  constructor(width: number, limit: number) {
    this.#width = width;
    this.#limit = limit;
  }

  /** Starts the task now or when its turn comes; the promise, if any, resolves when there is room for another. */
  run(lane: Lane, task: Task): void | Promise<void> {
    const chosen = this.#width === 1 ? 'ordinary' : lane;
    this.#total++;
    if (this.#running[chosen] < this.#width) this.#start(chosen, task);
    else this.#waiting[chosen].push(task);
    if (this.#total >= this.#limit) return this.#roomAgain();
  }

  /** Runs the task and, as long as they are done at once, those that wait behind it. */
  #start(lane: Lane, task: Task): void {
    this.#running[lane]++;
    for (let next: Task | undefined = task; next; next = this.#waiting[lane].shift()) {
      const done = next();
      if (done) {
        const finished = () => this.#finished(lane);
        return void done.then(finished, finished); // a task that fails has told so itself
      }
      this.#leave();
    }
    this.#running[lane]--;
  }

  #finished(lane: Lane): void {
    this.#running[lane]--;
    this.#leave();
    const next = this.#waiting[lane].shift();
    if (next) this.#start(lane, next);
  }

  #leave(): void {
    this.#total--;
    this.#room.notify();
  }

  async #roomAgain(): Promise<void> {
    while (this.#total >= this.#limit) await this.#room.next();
  }
}
