import type { KV } from '@nats-io/kv';
import { isConflict, isMissing } from '../cluster/kv-errors.ts';
import { type Ledger, LocalLedger } from './ledger.ts';

export interface KvLedgerOptions {
  /** How long a claimed id could be used. */
  readonly keepMs: number;
  now(): number;
}

/**
 * A ledger that all nodes share. When its bucket was lost, another one is opened; ids that were claimed at this node are remembered
 * here as well.
 */
export class KvLedger implements Ledger {
  readonly #openBucket: () => Promise<KV>;
  readonly #own: LocalLedger;
  #kv: KV;

  private constructor(openBucket: () => Promise<KV>, kv: KV, { keepMs, now }: KvLedgerOptions) {
    this.#openBucket = openBucket;
    this.#kv = kv;
    this.#own = new LocalLedger(keepMs, now);
  }

  static async open(openBucket: () => Promise<KV>, options: KvLedgerOptions): Promise<KvLedger> {
    return new KvLedger(openBucket, await openBucket(), options);
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
