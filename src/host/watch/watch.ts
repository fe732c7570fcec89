import { Changes, deferred } from '../../base/index.ts';
import type { ClientAudience } from '../stream/index.ts';
import { watchError } from './failure.ts';
import { UNCONFIRMED_MESSAGES } from './limits.ts';
import type { ShownChanges } from './shown-changes.ts';
import type { ChangeBatch, WatchProcess } from './watch-process.ts';

export type WatchAudience = Pick<ClientAudience, 'send' | 'probe'>;

export interface WatchOptions {
  readonly watchId: string;
  readonly process: WatchProcess;
  /** Undefined when the client may know of all changes. */
  readonly shown: ShownChanges | undefined;
  readonly audience: WatchAudience;
  /** Whether a client is attached now. */
  readonly isAttached: boolean;
  /** Called when the watch has ended by itself and the client knows it. */
  readonly onOver: () => void;
}

/**
 * Tells the client of a session what changes. It asks the program for changes when the client has room for them; what is on its way
 * when a connection is lost is sent once more, with the same number, over the next.
 */
export class Watch implements AsyncDisposable {
  readonly #options: WatchOptions;
  readonly #unconfirmed: string[] = [];
  readonly #changes = new Changes();
  readonly #over = deferred();
  #seq = 0;
  #isAttached: boolean;
  #isEnded = false;
  #isDisposed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#isAttached = options.isAttached;
    void this.#run().finally(() => this.#over.resolve());
  }

  detached(): void {
    this.#isAttached = false;
  }

  attached(): void {
    this.#isAttached = true;
    for (const message of this.#unconfirmed) void this.#send(message);
    this.#changes.notify();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#changes.notify();
    await this.#options.process[Symbol.asyncDispose]();
    await this.#over.promise;
  }

  async #run(): Promise<void> {
    const { process } = this.#options;
    while (!this.#isEnded && !this.#isDisposed) {
      const batch = await process.next().catch((error): ChangeBatch & { error: string } => lost(error as Error));
      while (!this.#hasRoom && !this.#isDisposed) await this.#changes.next();
      if (!this.#isDisposed) await this.#tell(batch);
    }
    if (!this.#isDisposed) await process[Symbol.asyncDispose]();
  }

  get #hasRoom(): boolean {
    return this.#isAttached && this.#unconfirmed.length < UNCONFIRMED_MESSAGES;
  }

  async #tell({ changes, overflow, ended = false, ...batch }: ChangeBatch & { error?: string }): Promise<void> {
    const { watchId, shown } = this.#options;
    const error = batch.error ?? (batch.failed && watchError(batch.failed).message);
    const told = shown ? shown.of(changes) : changes;
    this.#isEnded = ended;
    if (told.length === 0 && !overflow && !ended) return;
    const params = { watchId, seq: ++this.#seq, changes: told, ...(overflow && { overflow }), ...(ended && { ended }) };
    const message = JSON.stringify({
      method: 'fs/changed',
      params: error === undefined ? params : { ...params, error },
    });
    this.#unconfirmed.push(message);
    await this.#send(message);
    this.#options.audience.probe();
  }

  #send(message: string): void | Promise<void> {
    return this.#options.audience.send(message, () => this.#confirmed(message));
  }

  #confirmed(message: string): void {
    const at = this.#unconfirmed.indexOf(message);
    if (at < 0) return; // confirmed before, over another connection
    this.#unconfirmed.splice(0, at + 1); // they arrive in order
    this.#changes.notify();
    if (this.#isEnded && this.#unconfirmed.length === 0) this.#options.onOver();
  }
}

/** The last message when the program has ended without one. */
const lost = ({ message }: Error) => ({ changes: [], overflow: true, ended: true, error: message });
