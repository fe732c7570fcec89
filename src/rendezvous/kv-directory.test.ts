import { PassThrough } from 'node:stream';
import type { KV, KvEntry } from '@nats-io/kv';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../base/index.ts';
import type { Registration } from './directory.ts';
import { environmentToken } from './identifiers.ts';
import { KvDirectory } from './kv-directory.ts';

/** A bucket that says what the test wants. */
class ScriptedBucket {
  readonly changes = Object.assign(new PassThrough({ objectMode: true }), { stop: () => {} });
  #revision = 0;

  watch = async () => this.changes;
  delete = async () => {};

  put = async (key: string): Promise<void> => this.say(key, () => ({}) as Registration);

  say(key: string, json: () => Registration): void {
    this.changes.write({ key, revision: ++this.#revision, operation: 'PUT', json } as unknown as KvEntry);
  }

  registered(environmentId: string, updated: number): void {
    this.say(environmentToken(environmentId), () => ({ environmentId, updated }) as Registration);
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

async function open(now: () => number = () => 0) {
  const bucket = new ScriptedBucket();
  const options = { node: 'a', keepMs: 1000, isConnected: () => true, now, log: silentLogger };
  const directory = await KvDirectory.open(bucket as unknown as KV, options);
  return { bucket, directory };
}

const processed = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the copy of the registrations', () => {
  it('does not call itself ready when it follows no more', async () => {
    const { bucket, directory } = await open();
    expect(directory.ready).toBe(true);
    bucket.say('nonsense', () => {
      throw new SyntaxError('no JSON');
    });
    await processed();

    expect(directory.ready).toBe(false);
  });

  it('forgets what nobody has refreshed for as long as the bucket keeps things', async () => {
    let now = 0;
    const { bucket, directory } = await open(() => now);
    bucket.registered('old', 0);
    bucket.registered('new', 900);
    await processed();
    const told: string[] = [];
    directory.listen((environmentId) => void told.push(environmentId));

    now = 1000;
    vi.advanceTimersByTime(600_000);

    expect([[...directory.list()].map(({ environmentId }) => environmentId), told]).toEqual([['new'], ['old']]);
    await directory[Symbol.asyncDispose]();
  });
});
