import { setTimeout as delay } from 'node:timers/promises';
import type { KV, KvEntry } from '@nats-io/kv';
import { Changes, deferred, type Logger } from '../../../base/index.ts';
import { environmentToken } from '../api/identifiers.ts';
import type { SigningKeys } from '../trust/signing-keys.ts';
import type { Directory, DirectoryListener, Registration } from './directory.ts';
import { isConflict, isMissing, mayBeMissing } from './kv-errors.ts';
import { type DirectoryEntry, EntrySeal } from './sealed-entry.ts';

interface Known extends DirectoryEntry {
  /** Undefined while the bucket has no entry that this node has seen. */
  readonly revision: number | undefined;
}

export interface KvDirectoryOptions {
  /** What this node is called. */
  readonly node: string;
  /** The secrets of the cluster: entries without their signature are ignored. */
  readonly keys: SigningKeys;
  /** How long the bucket keeps what nobody refreshes. */
  readonly keepMs: number;
  readonly log: Logger;
  isConnected(): boolean;
  now(): number;
}

/**
 * Registrations in a key-value bucket, and a copy here that follows it. Others may write to the bucket as well: the copy changes only
 * by entries that a node has sealed, and never to an earlier version. When the bucket is made anew, the copy follows the new one and
 * writes the registrations of this node into it.
 */
export class KvDirectory implements Directory {
  readonly #openBucket: () => Promise<KV>;
  readonly #options: KvDirectoryOptions;
  readonly #seal: EntrySeal;
  readonly #known = new Map<string, Known>();
  readonly #listeners: DirectoryListener[] = [];
  readonly #ending = new AbortController();
  readonly #sweeping: NodeJS.Timeout;
  #kv: KV;
  #isFollowing = false;
  #stopFollowing = (): void => {};
  /** Tells when the copy follows a bucket again. */
  readonly #followed = new Changes();

  private constructor(openBucket: () => Promise<KV>, kv: KV, options: KvDirectoryOptions) {
    this.#openBucket = openBucket;
    this.#kv = kv;
    this.#options = options;
    this.#seal = new EntrySeal(options.keys);
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** Resolves when the copy is complete. */
  static async open(openBucket: () => Promise<KV>, options: KvDirectoryOptions): Promise<KvDirectory> {
    const directory = new KvDirectory(openBucket, await openBucket(), options);
    try {
      const over = await directory.#begin();
      void directory.#keepFollowing(over);
    } catch (error) {
      await directory[Symbol.asyncDispose]();
      throw error;
    }
    return directory;
  }

  /** A copy that follows no more would lead clients to where nobody is. */
  get ready(): boolean {
    return this.#isFollowing && this.#options.isConnected();
  }

  /** Follows the bucket; resolves when the copy is complete, with a promise of the end. */
  async #begin(): Promise<{ readonly over: Promise<void> }> {
    const { node, log } = this.#options;
    const kv = this.#kv;
    const { streamInfo } = await kv.status();
    const changes = await kv.watch();
    const mark = `mark-${node}`;
    const complete = deferred();
    const stop = (): void => changes.stop();
    this.#ending.signal.addEventListener('abort', stop);
    const checking = setInterval(() => void this.#check(kv, streamInfo.created, stop), CHECK_MS).unref();
    const over = this.#follow(changes, mark, complete.resolve)
      .catch((error: Error) => log.error('directory.watch_failed', { error: error.message }))
      .then(() => {
        this.#isFollowing = false;
        clearInterval(checking);
        this.#ending.signal.removeEventListener('abort', stop);
        complete.reject(new Error('the bucket of registrations cannot be followed'));
      });
    complete.promise.catch(() => {}); // whoever waits for it is told
    try {
      await kv.put(mark, ''); // comes after all that was there before
      await complete.promise;
      await kv.delete(mark);
    } catch (error) {
      stop();
      throw error;
    }
    this.#isFollowing = true;
    this.#stopFollowing = stop;
    this.#followed.notify();
    return { over };
  }

  async #follow(changes: AsyncIterable<KvEntry>, mark: string, complete: () => void): Promise<void> {
    for await (const entry of changes) {
      if (entry.key === mark) complete();
      else if (!entry.key.startsWith('mark-')) this.#apply(entry);
    }
  }

  /** The client says nothing when the stream under the bucket is removed and made anew. */
  async #check(kv: KV, created: string, stop: () => void): Promise<void> {
    if (!this.#options.isConnected()) return;
    try {
      if ((await kv.status()).streamInfo.created !== created) stop();
    } catch (error) {
      if (isMissing(error)) stop(); // any other failure is one of the way there
    }
  }

  async #keepFollowing(first: { readonly over: Promise<void> }): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#ending;
    for (let { over } = first; ; ) {
      await over;
      while (!signal.aborted && !this.#isFollowing) {
        await delay(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {}); // stopped: the condition tells
        if (signal.aborted) return;
        try {
          ({ over } = await this.#beginAnew());
          log.warn('directory.followed_again', {});
        } catch (error) {
          log.warn('directory.unreachable', { error: (error as Error).message });
        }
      }
      if (signal.aborted) return;
    }
  }

  async #beginAnew(): Promise<{ readonly over: Promise<void> }> {
    this.#kv = await this.#openBucket();
    for (const [key, known] of this.#known) this.#known.set(key, { ...known, revision: undefined });
    const followed = await this.#begin();
    await Promise.all([...this.#known].map(([key, known]) => this.#writeBack(key, known)));
    return followed;
  }

  /** A bucket that lost what this node said is told again; what other nodes said is theirs to tell. */
  async #writeBack(key: string, known: Known): Promise<void> {
    const { node, log } = this.#options;
    if (known.revision !== undefined || known.registration?.node !== node) return;
    try {
      const revision = await this.#write(key, this.#seal.seal(key, entryOf(known)), undefined);
      if (revision === undefined) await this.#read(key);
      else this.#learn(key, entryOf(known), revision);
    } catch (error) {
      log.warn('directory.update_failed', { environmentId: known.environmentId, error: (error as Error).message });
    }
  }

  /** The bucket says nothing when it drops what nobody has refreshed for long. */
  #sweep(): void {
    for (const [key, known] of this.#known) if (this.#isExpired(known)) this.#forget(key);
  }

  #isExpired({ version }: DirectoryEntry): boolean {
    return this.#options.now() - version >= this.#options.keepMs;
  }

  get(environmentId: string): Registration | undefined {
    return this.#known.get(environmentToken(environmentId))?.registration ?? undefined;
  }

  *list(): Iterable<Registration> {
    for (const { registration } of this.#known.values()) if (registration) yield registration;
  }

  async update(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | undefined,
  ): Promise<Registration | undefined> {
    return (await this.#change(environmentId, (current) => change(current))) ?? undefined;
  }

  async remove(environmentId: string): Promise<boolean> {
    return (await this.#change(environmentId, (current) => (current ? null : undefined))) === null;
  }

  listen(listener: DirectoryListener): void {
    this.#listeners.push(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeping);
    this.#ending.abort();
  }

  /** What became of the registration; undefined if it was left alone. A bucket that is gone is made anew first. */
  async #change(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | null | undefined,
  ): Promise<Registration | null | undefined> {
    const kv = this.#kv;
    try {
      return await this.#changeEntry(environmentId, change);
    } catch (error) {
      if (!mayBeMissing(error)) throw error;
      if (this.#kv === kv) this.#stopFollowing();
      await this.#followsAnother(kv, error);
      return this.#changeEntry(environmentId, change);
    }
  }

  /** Resolves when the copy follows another bucket than this one; throws the error if that takes too long. */
  async #followsAnother(lost: KV, error: unknown): Promise<void> {
    const deadline = performance.now() + ANEW_MS;
    while (!this.#isFollowing || this.#kv === lost) {
      const timeoutMs = deadline - performance.now();
      if (timeoutMs <= 0 || this.#ending.signal.aborted) throw error;
      await this.#followed.next({ timeoutMs, signal: this.#ending.signal });
    }
  }

  async #changeEntry(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | null | undefined,
  ): Promise<Registration | null | undefined> {
    const key = environmentToken(environmentId);
    let revision = this.#known.get(key)?.revision;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const known = this.#known.get(key);
      const registration = change(known?.registration ?? undefined);
      if (registration === undefined) return undefined;
      const version = Math.max((known?.version ?? 0) + 1, this.#options.now());
      const entry = { environmentId, version, registration };
      const written = await this.#write(key, this.#seal.seal(key, entry), revision);
      if (written !== undefined) {
        this.#learn(key, entry, written);
        return registration;
      }
      revision = await this.#read(key);
    }
    throw new Error(`registration of ${environmentId} changes too often`);
  }

  /** The new revision; undefined if somebody else was faster. */
  async #write(key: string, value: string, revision: number | undefined): Promise<number | undefined> {
    try {
      return await (revision === undefined ? this.#kv.create(key, value) : this.#kv.update(key, value, revision));
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  /** The revision that the bucket has now, whoever wrote it. */
  async #read(key: string): Promise<number | undefined> {
    const entry = await this.#kv.get(key);
    if (entry) this.#apply(entry);
    return entry?.revision;
  }

  #apply(entry: KvEntry): void {
    const { key, operation, revision } = entry;
    const sealed = operation === 'PUT' ? this.#seal.open(key, entry.string()) : undefined;
    if (sealed && !this.#isExpired(sealed)) this.#learn(key, sealed, revision);
    else this.#ignore(key, revision, operation);
  }

  /** Somebody who is no node of this cluster wrote or removed something: the copy stays as it was. */
  #ignore(key: string, revision: number, operation: string): void {
    const known = this.#known.get(key);
    if (known && (known.revision ?? 0) < revision) this.#known.set(key, { ...known, revision });
    this.#options.log.warn('directory.entry_refused', { key, revision, operation });
  }

  #learn(key: string, entry: DirectoryEntry, revision: number): void {
    const before = this.#known.get(key);
    if (before?.revision !== undefined && before.revision >= revision) return;
    if (before && before.version > entry.version) {
      this.#ignore(key, revision, 'PUT');
      return;
    }
    this.#known.set(key, { ...entry, revision });
    if (before?.version === entry.version) return; // known, and now at its place in another bucket
    this.#tell(entry.environmentId, entry.registration ?? undefined);
  }

  #forget(key: string): void {
    const known = this.#known.get(key);
    this.#known.delete(key);
    if (known?.registration) this.#tell(known.environmentId, undefined);
  }

  #tell(environmentId: string, registration: Registration | undefined): void {
    for (const listener of this.#listeners) listener(environmentId, registration);
  }
}

const ATTEMPTS = 16;
const SWEEP_MS = 600_000;
/** How soon a bucket that was made anew is noticed. */
const CHECK_MS = 2000;
const AGAIN_MS = 250;
/** How long a change waits for a bucket that is made anew. */
const ANEW_MS = 3000;

const entryOf = ({ environmentId, version, registration }: Known): DirectoryEntry => ({
  environmentId,
  version,
  registration,
});
