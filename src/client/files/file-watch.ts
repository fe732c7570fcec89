import { Changes } from '../../base/index.ts';
import type { FileChange, FileChanges, FileOptions, Notification, PathUri } from '../../protocol/index.ts';
import type { Calls } from '../calls.ts';

/** Gets what the server tells of one watch, until it fails with the connection. */
export interface ChangeListener {
  receive(changes: Notification<'fs/changed'>): void;
  fail(reason: Error): void;
}

export interface WatchOptions extends FileOptions {
  /** Whether to watch the directories below as well. */
  readonly recursive?: boolean | undefined;
}

type WatchCalls = Pick<Calls, 'request' | 'listen'>;

/**
 * What changes at a path, from the moment it was opened. A reader who is too slow, and one whose connection was lost for long, gets
 * `overflow`, and lists the tree anew.
 */
export class FileWatch implements AsyncIterable<FileChanges>, AsyncDisposable, ChangeListener {
  /** False where changes make no events, as in procfs. */
  readonly watching: boolean = false;
  readonly #calls: WatchCalls;
  readonly #watchId = crypto.randomUUID();
  readonly #listening: Disposable;
  readonly #arrived = new Changes();
  #waiting: FileChange[] = [];
  #overflow = false;
  #seq = 0;
  #end: { readonly error: Error | undefined } | undefined;

  static async open(calls: WatchCalls, path: PathUri, { signal, ...options }: WatchOptions = {}): Promise<FileWatch> {
    const watch = new FileWatch(calls);
    try {
      const params = { watchId: watch.#watchId, path, ...options };
      const { watching } = await calls.request('fs/watch', params, signal);
      return Object.assign(watch, { watching });
    } catch (error) {
      await watch[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(calls: WatchCalls) {
    this.#calls = calls;
    this.#listening = calls.listen(this.#watchId, this); // changes may come before the answer
  }

  receive({ seq, changes, overflow, ended, error }: Notification<'fs/changed'>): void {
    if (seq <= this.#seq) return; // sent once more after a lost connection
    const isWhole = seq === this.#seq + 1 && !overflow && this.#waiting.length + changes.length <= MOST_WAITING;
    this.#seq = seq;
    if (!isWhole) {
      this.#waiting = [];
      this.#overflow = true;
    }
    for (const change of changes.slice(0, MOST_WAITING)) this.#waiting.push(change);
    if (ended) this.#finish(error === undefined ? undefined : new Error(`the watch has ended: ${error}`));
    this.#arrived.notify();
  }

  fail(reason: Error): void {
    this.#finish(reason);
  }

  /** Ends when the watched path is gone, or the watch is disposed of; throws why it cannot go on otherwise. */
  async *[Symbol.asyncIterator](): AsyncGenerator<FileChanges, void, undefined> {
    for (;;) {
      while (this.#waiting.length > 0 || this.#overflow) yield this.#take();
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return;
      await this.#arrived.next();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isOver = this.#end !== undefined;
    this.#finish(undefined);
    this.#listening[Symbol.dispose]();
    if (isOver) return;
    await this.#calls.request('fs/unwatch', { watchId: this.#watchId }).catch(() => {}); // it ends with the session
  }

  #take(): FileChanges {
    const changes = this.#waiting;
    const overflow = this.#overflow;
    this.#waiting = [];
    this.#overflow = false;
    return overflow ? { changes, overflow } : { changes };
  }

  #finish(error: Error | undefined): void {
    this.#end ??= { error };
    this.#arrived.notify();
  }
}

/** Changes that wait for a slow reader: more than twice what the server joins for a slow client. */
const MOST_WAITING = 65_536;
