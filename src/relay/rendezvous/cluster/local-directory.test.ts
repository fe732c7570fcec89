import { describe, expect, it } from 'vitest';
import type { Registration } from './directory.ts';
import { LocalDirectory } from './local-directory.ts';

const registration = (environmentId: string, state: 'online' | 'offline', updated: number): Registration => ({
  environmentId,
  registrationId: 'r',
  executorPublicKey: {
    suite: 'Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256',
    x25519_public_key: '',
    mlkem768_public_key: '',
  },
  epoch: 0,
  node: 'n',
  state,
  updated,
  ownerChanges: [],
  registeredBy: 'a token',
});

describe('a directory in memory', () => {
  it('makes room by forgetting environments that were offline for long, and is full when there are none', async () => {
    let now = 0;
    const directory = new LocalDirectory({ most: 2, keepMs: 100, now: () => now });
    const add = (id: string, state: 'online' | 'offline') => directory.update(id, () => registration(id, state, now));
    await add('old', 'offline');
    now = 100;
    await add('on', 'online');
    await add('new', 'offline');

    expect([...directory.list()].map(({ environmentId }) => environmentId)).toEqual(['on', 'new']);
    await expect(add('more', 'offline')).rejects.toMatchObject({ status: 503, code: 'full' });
    await add('new', 'online');
  });

  it('reports every change and every removal', async () => {
    const directory = new LocalDirectory({ most: 2, keepMs: 100, now: () => 0 });
    const heard: unknown[] = [];
    directory.listen((id, news) => heard.push([id, news?.state]));
    await directory.update('a', () => registration('a', 'online', 0));
    await directory.update('a', () => undefined);

    expect([await directory.remove('a'), await directory.remove('a')]).toEqual([true, false]);
    expect(heard).toEqual([
      ['a', 'online'],
      ['a', undefined],
    ]);
  });
});
