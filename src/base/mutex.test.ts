import { describe, expect, it } from 'vitest';
import { Mutex } from './mutex.ts';

describe('a mutex', () => {
  it('has one holder at a time, in the order of the calls', async () => {
    const mutex = new Mutex();
    const log: string[] = [];
    const visit = async (name: string): Promise<void> => {
      using _turn = await mutex.lock();
      log.push(`${name} in`);
      await Promise.resolve();
      log.push(`${name} out`);
    };

    const visits = ['a', 'b', 'c'].map(visit);
    const taken = mutex.isLocked;
    await Promise.all(visits);

    expect(log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
    expect([taken, mutex.isLocked]).toEqual([true, false]);
  });

  it('skips a caller whose signal has aborted', async () => {
    const mutex = new Mutex();
    const first = await mutex.lock();
    const stop = new AbortController();
    const second = mutex.lock(stop.signal);
    let thirdIsIn = false;
    const third = mutex.lock().then(() => {
      thirdIsIn = true;
    });
    stop.abort(new Error('no time'));

    await expect(second).rejects.toThrow('no time');
    expect(thirdIsIn).toBe(false);
    first[Symbol.dispose]();
    await third;
  });

  it('is released once by a holder that is disposed of twice', async () => {
    const mutex = new Mutex();
    const first = await mutex.lock();
    const second = mutex.lock();
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    await second;

    expect(mutex.isLocked).toBe(true);
  });
});
