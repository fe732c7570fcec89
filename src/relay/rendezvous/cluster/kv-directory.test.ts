import { PassThrough } from 'node:stream';
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { KV, KvEntry } from '@nats-io/kv';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../../../base/index.ts';
import { environmentToken } from '../api/identifiers.ts';
import { SigningKeys } from '../trust/signing-keys.ts';
import type { Registration } from './directory.ts';
import { KvDirectory } from './kv-directory.ts';
import { EntrySeal } from './sealed-entry.ts';

const keys = new SigningKeys(['a'.repeat(32)]);
const seal = new EntrySeal(keys);

/** A bucket whose entries the test writes. */
class ScriptedBucket {
  readonly changes = Object.assign(new PassThrough({ objectMode: true }), { stop: () => this.changes.end() });
  #revision = 0;

  status = async () => ({ streamInfo: { created: 'then' } });
  watch = async () => this.changes;
  delete = async () => {};
  readonly written: string[] = [];
  create = async (key: string): Promise<number> => {
    this.written.push(key);
    return ++this.#revision;
  };
  put = async (key: string): Promise<void> => this.say(key, '');

  say(key: string, text: string): void {
    const entry = { key, revision: ++this.#revision, operation: 'PUT', string: () => text };
    this.changes.write(entry as unknown as KvEntry);
  }

  registered(environmentId: string, version: number): void {
    const registration = { environmentId, updated: version } as Registration;
    const key = environmentToken(environmentId);
    this.say(key, seal.seal(key, { environmentId, version, registration }));
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

async function open(now: () => number = () => 0) {
  const buckets = [new ScriptedBucket()];
  const bucket = buckets[0]!;
  const options = { node: 'a', keys, keepMs: 1000, isConnected: () => true, now, log: silentLogger };
  const openBucket = async () => buckets.at(-1) as unknown as KV;
  return { buckets, bucket, directory: await KvDirectory.open(openBucket, options) };
}

const processed = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const names = (directory: KvDirectory): string[] => [...directory.list()].map(({ environmentId }) => environmentId);

describe('the copy of the registrations', () => {
  it('is not ready while it cannot follow, and then follows again with what it knows', async () => {
    const { buckets, bucket, directory } = await open();
    bucket.registered('kept', 1);
    await processed();
    const next = new ScriptedBucket();
    buckets.push(next);
    const followed = vi.spyOn(next, 'watch');
    expect(directory.ready).toBe(true);

    bucket.changes.destroy(new Error('lost'));
    await processed();
    expect(directory.ready).toBe(false);
    await vi.waitUntil(() => followed.mock.calls.length === 1 && directory.ready);

    next.registered('new', 2);
    await processed();
    expect(names(directory)).toEqual(['kept', 'new']);
    await directory[Symbol.asyncDispose]();
  });

  it('is written to a new bucket when the bucket is found gone', async () => {
    const { buckets, bucket, directory } = await open();
    const next = new ScriptedBucket();
    buckets.push(next);
    const gone = { code: 404, err_code: JetStreamApiCodes.StreamNotFound, description: 'stream not found' };
    bucket.create = () => Promise.reject(new JetStreamApiError(gone));

    const registration = { environmentId: 'env' } as Registration;
    expect(await directory.update('env', () => registration)).toEqual(registration);
    expect(next.written).toEqual([environmentToken('env')]);
    await directory[Symbol.asyncDispose]();
  });

  it('takes no entry that is unsigned, for another environment or older than what it knows', async () => {
    const { bucket, directory } = await open();
    bucket.registered('env', 5);
    bucket.say(environmentToken('env'), JSON.stringify({ environmentId: 'env' }));
    bucket.say('nonsense', 'nonsense');
    const key = environmentToken('env');
    bucket.say(environmentToken('other'), seal.seal(key, { environmentId: 'env', version: 6, registration: null }));
    bucket.registered('env', 4);
    await processed();

    expect([...directory.list()]).toEqual([{ environmentId: 'env', updated: 5 }]);
    await directory[Symbol.asyncDispose]();
  });

  it('forgets entries that were not refreshed for as long as the bucket keeps them', async () => {
    let now = 0;
    const { bucket, directory } = await open(() => now);
    bucket.registered('old', 1);
    bucket.registered('new', 900);
    await processed();
    const forgotten: string[] = [];
    directory.listen((environmentId) => void forgotten.push(environmentId));

    now = 1001;
    vi.advanceTimersByTime(600_000);

    expect([names(directory), forgotten]).toEqual([['new'], ['old']]);
    await directory[Symbol.asyncDispose]();
  });
});
