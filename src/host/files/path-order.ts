interface Work {
  readonly paths: readonly string[];
  readonly changes: boolean;
  readonly done: Promise<void>;
}

/**
 * Runs tasks concurrently but keeps the order of those that touch the same path, if one of them changes it: a client
 * may send "create the directory" and "write a file in it" without waiting in between.
 */
export class PathOrder {
  readonly #running = new Set<Work>();
  #changes = 0;

  run<T>(paths: readonly string[], changes: boolean, task: () => T | Promise<T>): T | Promise<T> {
    const earlier = changes || this.#changes > 0 ? this.#conflicting(paths, changes) : [];
    const outcome = earlier.length === 0 ? task() : Promise.all(earlier).then(task);
    if (!(outcome instanceof Promise)) return outcome;
    this.#remember(paths, changes, outcome);
    return outcome;
  }

  /** Runs a task after earlier changes of what it looks at; later requests do not wait for it, as it may take long. */
  after<T>(paths: readonly string[], task: () => Promise<T>): Promise<T> {
    const earlier = this.#changes > 0 ? this.#conflicting(paths, false) : [];
    return earlier.length === 0 ? task() : Promise.all(earlier).then(task);
  }

  #conflicting(paths: readonly string[], changes: boolean): Promise<void>[] {
    return [...this.#running]
      .filter((work) => (changes || work.changes) && overlap(work.paths, paths))
      .map(({ done }) => done);
  }

  #remember(paths: readonly string[], changes: boolean, outcome: Promise<unknown>): void {
    const finished = () => {
      this.#running.delete(work);
      if (changes) this.#changes--;
    };
    const work: Work = { paths, changes, done: outcome.then(finished, finished) };
    this.#running.add(work);
    if (changes) this.#changes++;
  }
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((one) => others.some((other) => contains(one, other) || contains(other, one)));
}

/** Whether a URI is the given directory or lies below it. */
function contains(directory: string, uri: string): boolean {
  if (!uri.startsWith(directory)) return false;
  return uri.length === directory.length || directory.endsWith('/') || uri[directory.length] === '/';
}
