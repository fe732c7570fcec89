import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { KV, KvEntry } from '@nats-io/kv';
import { deferred, type Logger } from '../base/index.ts';
import type { Directory, DirectoryListener, Registration } from './directory.ts';
import { environmentToken } from './identifiers.ts';

interface Known {
  /** Nothing when it was removed. */
  readonly registration: Registration | undefined;
  readonly revision: number;
}

export interface KvDirectoryOptions {
  /** What this node is called. */
  readonly node: string;
  /** How long the bucket keeps what nobody refreshes. */
  readonly keepMs: number;
  readonly log: Logger;
  isConnected(): boolean;
  now(): number;
}

/** Registrations in a key-value bucket, and a copy here that follows it. */
export class KvDirectory implements Directory {
  readonly #kv: KV;
  readonly #options: KvDirectoryOptions;
  readonly #known = new Map<string, Known>();
  readonly #listeners: DirectoryListener[] = [];
  #stop = (): void => {};
  #isFollowing = true;

  private constructor(kv: KV, options: KvDirectoryOptions) {
    this.#kv = kv;
    this.#options = options;
  }

  /** Resolves when the copy is complete: a mark of our own comes after all that was there before. */
  static async open(kv: KV, options: KvDirectoryOptions): Promise<KvDirectory> {
    const directory = new KvDirectory(kv, options);
    const complete = deferred();
    const mark = `mark-${options.node}`;
    const changes = await kv.watch();
    const sweeping = setInterval(() => directory.#sweep(), SWEEP_MS).unref();
    directory.#stop = () => {
      clearInterval(sweeping);
      changes.stop();
    };
    void directory.#follow(changes, mark, complete.resolve);
    try {
      await kv.put(mark, '');
      await complete.promise;
      await kv.delete(mark);
    } catch (error) {
      directory.#stop();
      throw error;
    }
    return directory;
  }

  /** A copy that follows no more would lead clients to where nobody is. */
  get ready(): boolean {
    return this.#isFollowing && this.#options.isConnected();
  }

  async #follow(changes: AsyncIterable<KvEntry>, mark: string, complete: () => void): Promise<void> {
    const { log } = this.#options;
    try {
      for await (const entry of changes) {
        if (entry.key === mark) complete();
        else if (!entry.key.startsWith('mark-')) this.#apply(entry);
      }
    } catch (error) {
      log.error('directory.watch_failed', { error: (error as Error).message });
    }
    this.#isFollowing = false;
  }

  /** The bucket says nothing when it drops what nobody has refreshed for long. */
  #sweep(): void {
    const { keepMs, now } = this.#options;
    for (const [key, { registration }] of this.#known) {
      if (!registration || now() - registration.updated >= keepMs) this.#forget(key);
    }
  }

  get(environmentId: string): Registration | undefined {
    return this.#known.get(environmentToken(environmentId))?.registration;
  }

  *list(): Iterable<Registration> {
    for (const { registration } of this.#known.values()) if (registration) yield registration;
  }

  async update(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | undefined,
  ): Promise<Registration | undefined> {
    const key = environmentToken(environmentId);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const known = this.#known.get(key);
      const next = change(known?.registration);
      if (!next) return undefined;
      const revision = await this.#write(key, JSON.stringify(next), known?.revision);
      if (revision !== undefined) {
        this.#learn(key, { registration: next, revision });
        return next;
      }
      await this.#read(key);
    }
    throw new Error(`registration of ${environmentId} changes too often`);
  }

  async remove(environmentId: string): Promise<boolean> {
    const key = environmentToken(environmentId);
    if (!this.#known.get(key)?.registration) return false;
    await this.#kv.delete(key);
    await this.#read(key);
    return true;
  }

  listen(listener: DirectoryListener): void {
    this.#listeners.push(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
  }

  /** The new revision; nothing if somebody else was faster. */
  async #write(key: string, value: string, revision: number | undefined): Promise<number | undefined> {
    try {
      return await (revision === undefined ? this.#kv.create(key, value) : this.#kv.update(key, value, revision));
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  async #read(key: string): Promise<void> {
    const entry = await this.#kv.get(key);
    if (entry) this.#apply(entry);
    else this.#forget(key);
  }

  #apply(entry: KvEntry): void {
    const registration = entry.operation === 'PUT' ? entry.json<Registration>() : undefined;
    this.#learn(entry.key, { registration, revision: entry.revision });
  }

  #learn(key: string, news: Known): void {
    const before = this.#known.get(key);
    if (before && before.revision >= news.revision) return;
    this.#known.set(key, news);
    const environmentId = (news.registration ?? before?.registration)?.environmentId;
    if (environmentId !== undefined) this.#tell(environmentId, news.registration);
  }

  #forget(key: string): void {
    const registration = this.#known.get(key)?.registration;
    this.#known.delete(key);
    if (registration) this.#tell(registration.environmentId, undefined);
  }

  #tell(environmentId: string, registration: Registration | undefined): void {
    for (const listener of this.#listeners) listener(environmentId, registration);
  }
}

const ATTEMPTS = 16;
const SWEEP_MS = 600_000;

/** Whether a write came too late because the key has another revision by now. */
export function isConflict(error: unknown): boolean {
  const { StreamWrongLastSequence, StreamWrongLastSequenceUnknown } = JetStreamApiCodes;
  const codes: readonly number[] = [StreamWrongLastSequence, StreamWrongLastSequenceUnknown];
  return error instanceof JetStreamApiError && codes.includes(error.code);
}
