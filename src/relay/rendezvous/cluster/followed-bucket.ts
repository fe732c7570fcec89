import { setTimeout as delay } from 'node:timers/promises';
import type { KV, KvEntry } from '@nats-io/kv';
import { Changes, deferred, type Logger, onAbort } from '../../../base/index.ts';
import { directoryLimits } from '../limits.ts';
import { isMissing } from './kv-errors.ts';

export interface FollowedBucketOptions {
  /** The name of this node. */
  readonly node: string;
  readonly log: Logger;
  openBucket(): Promise<KV>;
  isConnected(): boolean;
  /** An entry was written or removed. */
  onEntry(entry: KvEntry): void;
  /** The bucket was lost, and another one is open in its place. */
  onReopened(): void;
  /** `onEntry` was called for every entry of the new bucket. */
  onFollowedAgain(): Promise<void>;
}

type State =
  | { readonly phase: 'following'; readonly kv: KV; readonly stop: () => void }
  | { readonly phase: 'lost'; readonly kv: KV };

/** Follows a key-value bucket: reports its entries and every change. When it is lost, another one is opened and followed. */
export class FollowedBucket implements AsyncDisposable {
  readonly #options: FollowedBucketOptions;
  readonly #closing = new AbortController();
  readonly #followed = new Changes();
  #state: State;

  private constructor(kv: KV, options: FollowedBucketOptions) {
    this.#state = { phase: 'lost', kv };
    this.#options = options;
  }

  /** Resolves when all entries have been reported. */
  static async open(options: FollowedBucketOptions): Promise<FollowedBucket> {
    const bucket = new FollowedBucket(await options.openBucket(), options);
    try {
      const over = await bucket.#follow(bucket.kv);
      void bucket.#keepFollowing(over);
      return bucket;
    } catch (error) {
      await bucket[Symbol.asyncDispose]();
      throw error;
    }
  }

  get kv(): KV {
    return this.#state.kv;
  }

  get isFollowing(): boolean {
    return this.#state.phase === 'following';
  }

  /** Resolves when another bucket than this one is followed; throws the error if that takes too long. */
  async replace(lost: KV, error: unknown): Promise<void> {
    if (this.#state.phase === 'following' && this.kv === lost) this.#state.stop();
    const { signal } = this.#closing;
    const deadline = performance.now() + directoryLimits.reopenMs;
    while (!this.isFollowing || this.kv === lost) {
      const timeoutMs = deadline - performance.now();
      if (timeoutMs <= 0 || signal.aborted) throw error;
      await this.#followed.next({ timeoutMs, signal });
    }
  }

  /** Resolves when all entries have been reported, with a promise of the end. */
  async #follow(kv: KV): Promise<{ readonly over: Promise<void> }> {
    const { node, log } = this.#options;
    const { streamInfo } = await kv.status();
    const changes = await kv.watch();
    const mark = `${MARK}${node}`;
    const complete = deferred();
    const stop = (): void => changes.stop();
    const stopping = onAbort(this.#closing.signal, stop);
    const checking = setInterval(
      () => void this.#checkStream(kv, streamInfo.created, stop),
      directoryLimits.bucketCheckMs,
    ).unref();
    const over = this.#forward(changes, mark, complete.resolve)
      .catch((error: Error) => log.error('directory.watch_failed', { error: error.message }))
      .then(() => {
        this.#state = { phase: 'lost', kv: this.kv };
        clearInterval(checking);
        stopping[Symbol.dispose]();
        complete.reject(new Error('the bucket of registrations cannot be followed'));
      });
    complete.promise.catch(() => {}); // thrown below, where it is awaited
    try {
      await kv.put(mark, ''); // arrives after all earlier entries
      await complete.promise;
      await kv.delete(mark);
    } catch (error) {
      stop();
      throw error;
    }
    this.#state = { phase: 'following', kv, stop };
    this.#followed.notify();
    return { over };
  }

  async #forward(changes: AsyncIterable<KvEntry>, mark: string, complete: () => void): Promise<void> {
    for await (const entry of changes) {
      if (entry.key === mark) complete();
      else if (!entry.key.startsWith(MARK)) this.#options.onEntry(entry);
    }
  }

  /** The NATS client does not report that the stream under a bucket was removed and made anew. */
  async #checkStream(kv: KV, created: string, stop: () => void): Promise<void> {
    if (!this.#options.isConnected()) return;
    try {
      if ((await kv.status()).streamInfo.created !== created) stop();
    } catch (error) {
      if (isMissing(error)) stop(); // after other errors, the next check asks again
    }
  }

  async #keepFollowing(first: { readonly over: Promise<void> }): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#closing;
    for (let { over } = first; ; ) {
      await over;
      while (!signal.aborted && !this.isFollowing) {
        // The delay rejects when this is closed, which the next line notices.
        await delay(directoryLimits.reopenPauseMs, undefined, { signal, ref: false }).catch(() => {}); // aborted: the loop ends
        if (signal.aborted) return;
        try {
          ({ over } = await this.#reopen());
          log.warn('directory.followed_again', {});
        } catch (error) {
          log.warn('directory.unreachable', { error: (error as Error).message });
        }
      }
      if (signal.aborted) return;
    }
  }

  async #reopen(): Promise<{ readonly over: Promise<void> }> {
    const kv = await this.#options.openBucket();
    this.#state = { phase: 'lost', kv };
    this.#options.onReopened();
    const followed = await this.#follow(kv);
    await this.#options.onFollowedAgain();
    return followed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
  }
}

/** Keys that begin so are written to learn that all earlier entries have arrived. */
const MARK = 'mark-';
