type Task = () => void | Promise<void>;

/**
 * Makes answers when the link has room for them, up to `width` at a time: while a client does not read, the others are not made and
 * take no memory. A task returns a promise while the link is full, or while it prepares the answer.
 */
export class AnswerQueue {
  readonly #width: number;
  readonly #waiting: { readonly task: Task; readonly done: () => void }[] = [];
  #running = 0;

  constructor(width: number) {
    this.#width = width;
  }

  /** The promise, if any, resolves when the task is done. */
  run(task: Task): void | Promise<void> {
    if (this.#running < this.#width) return this.#start(task);
    return new Promise((done) => this.#waiting.push({ task, done }));
  }

  #start(task: Task): void | Promise<void> {
    const busy = task();
    if (!busy) return;
    this.#running++;
    return busy.finally(() => {
      this.#running--;
      this.#advance();
    });
  }

  #advance(): void {
    while (this.#running < this.#width) {
      const next = this.#waiting.shift();
      if (!next) return;
      const busy = this.#start(next.task);
      if (busy) void busy.finally(next.done);
      else next.done();
    }
  }
}
