import { ExecError } from '../../protocol/index.ts';
import { nativeFile } from '../os/index.ts';
import type { HelperLaunchers, KeyedView } from '../sandbox/index.ts';
import { SandboxedEngine } from './sandboxed-engine.ts';

/** The helpers of one client: the first call under a policy starts one, later calls use it again. */
export class SandboxedEngines implements AsyncDisposable {
  readonly #launchers: HelperLaunchers;
  readonly #engines = new Map<string, SandboxedEngine>(); // the most recently used last
  readonly #ending = new Set<Promise<void>>();
  readonly #sweep: NodeJS.Timeout;
  #closed = false;

  constructor(launchers: HelperLaunchers) {
    this.#launchers = launchers;
    this.#sweep = setInterval(() => this.#endIdle(), IDLE_MS / 2).unref();
  }

  /** The engine for a view. Must be given a request at once: an engine without requests may be ended. */
  get({ key, view }: KeyedView): SandboxedEngine {
    // A request may have waited for its turn until after the connection closed: nothing would end its helper.
    if (this.#closed) throw new ExecError('invalidRequest', 'the connection is closed');
    const known = this.#engines.get(key);
    const engine =
      known && !known.failed ? known : new SandboxedEngine(this.#launchers.launch(nativeFile('fs-helper'), view));
    if (known && known !== engine) this.#end(key);
    this.#engines.delete(key);
    this.#engines.set(key, engine);
    if (this.#engines.size > MOST_ENGINES) this.#endOldest(engine);
    return engine;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const key of [...this.#engines.keys()]) this.#end(key);
    await Promise.all(this.#ending);
  }

  #endOldest(wanted: SandboxedEngine): void {
    const idle = [...this.#engines].find(([, engine]) => engine !== wanted && !engine.busy);
    if (idle) this.#end(idle[0]);
  }

  #endIdle(): void {
    for (const [key, engine] of this.#engines) {
      if (!engine.busy && engine.idleMs >= IDLE_MS) this.#end(key);
    }
  }

  #end(key: string): void {
    const engine = this.#engines.get(key);
    if (!engine) return;
    this.#engines.delete(key);
    const ended = engine[Symbol.asyncDispose]().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

/** A client has a handful of policies at most; engines with open files or requests under way are not counted. */
const MOST_ENGINES = 8;
/** Longer than a model usually takes between two calls. */
const IDLE_MS = 15_000;
