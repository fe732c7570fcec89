import type { KV } from '@nats-io/kv';
import { environmentToken } from '../api/identifiers.ts';
import { directoryLimits } from '../limits.ts';
import type { Directory, DirectoryListener, Registration } from './directory.ts';
import { FollowedBucket, type FollowedBucketOptions } from './followed-bucket.ts';
import { isConflict, mayBeMissing } from './kv-errors.ts';
import { type KnownEntry, RegistrationCopy, type RegistrationCopyOptions } from './registration-copy.ts';
import { EntrySeal, type EnvironmentEntry } from './sealed-entry.ts';

export interface KvDirectoryOptions
  extends RegistrationCopyOptions,
    Pick<FollowedBucketOptions, 'node' | 'isConnected'> {}

/** The registration after a change, null to remove it, undefined to leave it as it is. */
type Change = (current: Registration | undefined) => Registration | null | undefined;

/**
 * Registrations in a key-value bucket of all nodes. Reads go to a copy in memory that follows the bucket; a change is compared and set
 * in the bucket. When the bucket was lost, the registrations of this node are written into the next one.
 */
export class KvDirectory implements Directory {
  readonly #options: KvDirectoryOptions;
  readonly #bucket: FollowedBucket;
  readonly #copy: RegistrationCopy;
  readonly #seal: EntrySeal;
  readonly #sweeping: NodeJS.Timeout;

  private constructor(options: KvDirectoryOptions, bucket: FollowedBucket, copy: RegistrationCopy) {
    this.#options = options;
    this.#bucket = bucket;
    this.#copy = copy;
    this.#seal = new EntrySeal(options.keys);
    this.#sweeping = setInterval(() => copy.sweep(), directoryLimits.sweepMs).unref();
  }

  /** Resolves when the copy is complete. */
  static async open(openBucket: () => Promise<KV>, options: KvDirectoryOptions): Promise<KvDirectory> {
    const { node, log, isConnected } = options;
    const copy = new RegistrationCopy(options);
    const bucket: FollowedBucket = await FollowedBucket.open({
      ...{ node, log, openBucket, isConnected },
      onEntry: (entry) => copy.apply(entry),
      onReopened: () => copy.forgetRevisions(),
      onFollowedAgain: () => directory.#writeBack(),
    });
    const directory = new KvDirectory(options, bucket, copy);
    return directory;
  }

  /** Without a bucket to follow, the copy could lead clients to sockets that have closed. */
  get ready(): boolean {
    return this.#bucket.isFollowing && this.#options.isConnected();
  }

  get(environmentId: string): Registration | undefined {
    return this.#copy.get(environmentId);
  }

  list(): Iterable<Registration> {
    return this.#copy.registrations();
  }

  listen(listener: DirectoryListener): void {
    this.#copy.listen(listener);
  }

  async update(
    environmentId: string,
    change: (current: Registration | undefined) => Registration | undefined,
  ): Promise<Registration | undefined> {
    return (await this.#change(environmentId, change)) ?? undefined;
  }

  async remove(environmentId: string): Promise<boolean> {
    return (await this.#change(environmentId, (current) => (current ? null : undefined))) === null;
  }

  /** A change that finds the bucket lost waits for the next one. */
  async #change(environmentId: string, change: Change): Promise<Registration | null | undefined> {
    const { kv } = this.#bucket;
    try {
      return await this.#changeEntry(environmentId, change);
    } catch (error) {
      if (!mayBeMissing(error)) throw error;
      await this.#bucket.replace(kv, error);
      return this.#changeEntry(environmentId, change);
    }
  }

  async #changeEntry(environmentId: string, change: Change): Promise<Registration | null | undefined> {
    const key = environmentToken(environmentId);
    let revision = this.#copy.entry(key)?.revision;
    for (let tries = 0; tries < directoryLimits.updateTries; tries++) {
      const known = this.#copy.entry(key);
      const registration = change(known?.registration ?? undefined);
      if (registration === undefined) return undefined;
      const version = Math.max((known?.version ?? 0) + 1, this.#options.now());
      const entry = { environmentId, version, registration };
      if (await this.#write(key, entry, revision)) return registration;
      revision = await this.#read(key);
    }
    throw new Error(`registration of ${environmentId} changes too often`);
  }

  /** False if another node was faster. */
  async #write(key: string, entry: EnvironmentEntry, revision: number | undefined): Promise<boolean> {
    const { kv } = this.#bucket;
    const value = this.#seal.seal(key, entry);
    try {
      const written = await (revision === undefined ? kv.create(key, value) : kv.update(key, value, revision));
      this.#copy.learn(key, entry, written);
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  /** The revision in the bucket, also of an entry that the copy refuses. */
  async #read(key: string): Promise<number | undefined> {
    const entry = await this.#bucket.kv.get(key);
    if (entry) this.#copy.apply(entry);
    return entry?.revision;
  }

  /** Writes entries of this node that the next bucket lacks. Other nodes write theirs. */
  async #writeBack(): Promise<void> {
    const lost = this.#copy
      .entries()
      .filter(([, { revision, registration }]) => revision === undefined && registration?.node === this.#options.node);
    await Promise.all(lost.map(([key, known]) => this.#writeEntryBack(key, known)));
  }

  async #writeEntryBack(key: string, { environmentId, version, registration }: KnownEntry): Promise<void> {
    try {
      const written = await this.#write(key, { environmentId, version, registration }, undefined);
      if (!written) await this.#read(key);
    } catch (error) {
      this.#options.log.warn('directory.update_failed', { environmentId, error: (error as Error).message });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#bucket[Symbol.asyncDispose]();
  }
}
