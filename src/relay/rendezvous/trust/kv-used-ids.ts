import type { KV } from '@nats-io/kv';
import { isConflict, isMissing } from '../cluster/kv-errors.ts';
import { LocalUsedIds, type UsedIds } from './used-ids.ts';

export interface KvUsedIdsOptions {
  /** How long a claimed id could be used. */
  readonly keepMs: number;
  now(): number;
}

/**
 * The used ids of all nodes, in a bucket. When the bucket was lost, another one is opened; the ids that were claimed at this node are
 * remembered in memory as well.
 */
export class KvUsedIds implements UsedIds {
  readonly #openBucket: () => Promise<KV>;
  readonly #own: LocalUsedIds;
  #kv: KV;

  private constructor(openBucket: () => Promise<KV>, kv: KV, { keepMs, now }: KvUsedIdsOptions) {
    this.#openBucket = openBucket;
    this.#kv = kv;
    this.#own = new LocalUsedIds(keepMs, now);
  }

  static async open(openBucket: () => Promise<KV>, options: KvUsedIdsOptions): Promise<KvUsedIds> {
    return new KvUsedIds(openBucket, await openBucket(), options);
  }

  async claim(id: string): Promise<boolean> {
    return (await this.#claimForAll(id)) && (await this.#own.claim(id));
  }

  async #claimForAll(id: string): Promise<boolean> {
    try {
      return await this.#create(id);
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.#kv = await this.#openBucket();
      return await this.#create(id);
    }
  }

  async #create(id: string): Promise<boolean> {
    try {
      await this.#kv.create(id, '');
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }
}
