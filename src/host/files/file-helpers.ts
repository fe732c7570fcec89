import { ExecError } from '../../protocol/index.ts';
import type { LaunchedHelper } from '../sandbox/index.ts';
import { FileHelper } from './file-helper.ts';

/** The helpers of one client, kept warm: the first call under a policy starts one, later ones find it waiting. */
export class FileHelpers implements AsyncDisposable {
  readonly #helpers = new Map<string, FileHelper>(); // the most recently used last
  readonly #ending = new Set<Promise<void>>();
  readonly #sweep: NodeJS.Timeout;
  #closed = false;

  constructor() {
    this.#sweep = setInterval(() => this.#endIdle(), IDLE_MS / 2).unref();
  }

  /** The helper for a policy, to be given a request at once: one without any may be ended. */
  get(key: string, launch: () => LaunchedHelper): FileHelper {
    // A request that waited for another gets its turn after the connection is gone: nothing would end its helper.
    if (this.#closed) throw new ExecError('invalidRequest', 'the connection is closed');
    const known = this.#helpers.get(key);
    const helper = known && !known.failed ? known : new FileHelper(launch());
    if (known && known !== helper) this.#end(key);
    this.#helpers.delete(key);
    this.#helpers.set(key, helper);
    if (this.#helpers.size > MAX_HELPERS) this.#endOldest(helper);
    return helper;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const key of [...this.#helpers.keys()]) this.#end(key);
    await Promise.all(this.#ending);
  }

  #endOldest(wanted: FileHelper): void {
    const idle = [...this.#helpers].find(([, helper]) => helper !== wanted && !helper.busy);
    if (idle) this.#end(idle[0]);
  }

  #endIdle(): void {
    for (const [key, helper] of this.#helpers) {
      if (!helper.busy && helper.idleMs >= IDLE_MS) this.#end(key);
    }
  }

  #end(key: string): void {
    const helper = this.#helpers.get(key);
    if (!helper) return;
    this.#helpers.delete(key);
    const ended = helper[Symbol.asyncDispose]().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/** A client has a handful of policies at most; those with open files or requests under way come on top. */
const MAX_HELPERS = 8;
/** Longer than a client thinks between two calls. */
const IDLE_MS = 15_000;
