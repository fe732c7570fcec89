import { Changes } from '../base/index.ts';

/**
 * How a request is queued: `ordinary`; `control`, so that a stop never waits behind the request it stops; or `parked`, for
 * requests that wait for an event and use no processor meanwhile.
 */
export type Lane = 'ordinary' | 'control' | 'parked';

type Task = () => void | Promise<void>;

interface WaitingTask {
  readonly task: Task;
  readonly parks: boolean;
}

/**
 * Runs up to `width` tasks per lane at a time and starts the others in order. Parked tasks are started in order with the
 * ordinary ones and are not counted once they have started. With a width of one there is a single lane: one task after another.
 */
export class Lanes {
  readonly #width: number;
  readonly #limit: number;
  readonly #running = { ordinary: 0, control: 0 };
  readonly #waiting: Record<'ordinary' | 'control', WaitingTask[]> = { ordinary: [], control: [] };
  readonly #room = new Changes();
  #parked = 0;
  #total = 0;

  constructor(width: number, limit: number) {
    this.#width = width;
    this.#limit = limit;
  }

  /** How many tasks are parked. */
  get parked(): number {
    return this.#parked;
  }

  /** Starts the task now or in order; the promise, if any, resolves when there is room for another. */
  run(lane: Lane, task: Task): void | Promise<void> {
    const parks = lane === 'parked' && this.#width > 1;
    const chosen = this.#width > 1 && lane === 'control' ? lane : 'ordinary';
    this.#total++;
    if (parks && this.#waiting.ordinary.length === 0) this.#park(task);
    else if (!parks && this.#running[chosen] < this.#width) this.#start(chosen, task);
    else this.#waiting[chosen].push({ task, parks });
    if (this.#total >= this.#limit) return this.#roomAgain();
  }

  #park(task: Task): void {
    const done = task();
    this.#uncount();
    if (!done) return;
    this.#parked++;
    const finished = (): void => void this.#parked--;
    void done.then(finished, finished);
  }

  /** Runs the task and those queued behind it until one returns a promise. */
  #start(lane: 'ordinary' | 'control', task: Task): void {
    this.#running[lane]++;
    for (let next: Task | undefined = task; next; next = this.#next(lane)) {
      const done = next();
      if (done) {
        const finished = () => this.#finished(lane);
        return void done.then(finished, finished); // a failed task has answered with its error
      }
      this.#uncount();
    }
    this.#running[lane]--;
  }

  /** The next task that is counted; parked ones before it are started. */
  #next(lane: 'ordinary' | 'control'): Task | undefined {
    for (let next = this.#waiting[lane].shift(); next; next = this.#waiting[lane].shift()) {
      if (!next.parks) return next.task;
      this.#park(next.task);
    }
    return undefined;
  }

  #finished(lane: 'ordinary' | 'control'): void {
    this.#running[lane]--;
    this.#uncount();
    const next = this.#next(lane);
    if (next) this.#start(lane, next);
    while (this.#waiting[lane][0]?.parks) this.#park(this.#waiting[lane].shift()!.task);
  }

  /** Removes a task that has ended, or has parked, from the number that limits reading. */
  #uncount(): void {
    this.#total--;
    this.#room.notify();
  }

  async #roomAgain(): Promise<void> {
    while (this.#total >= this.#limit) await this.#room.next();
  }
}
