import { describe, expect, it } from 'vitest';
import { Turnstile } from './turnstile.ts';

describe('a turnstile', () => {
  it('lets one in at a time, in the order they came', async () => {
    const turnstile = new Turnstile();
    const log: string[] = [];
    const visit = async (name: string): Promise<void> => {
      using _turn = await turnstile.enter();
      log.push(`${name} in`);
      await Promise.resolve();
      log.push(`${name} out`);
    };

    const visits = ['a', 'b', 'c'].map(visit);
    const taken = turnstile.isTaken;
    await Promise.all(visits);

    expect(log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
    expect([taken, turnstile.isTaken]).toEqual([true, false]);
  });

  it('lets go of one who no longer wants to wait, and the next one in after those before', async () => {
    const turnstile = new Turnstile();
    const first = await turnstile.enter();
    const stop = new AbortController();
    const second = turnstile.enter(stop.signal);
    let thirdIsIn = false;
    const third = turnstile.enter().then(() => {
      thirdIsIn = true;
    });
    stop.abort(new Error('no time'));

    await expect(second).rejects.toThrow('no time');
    expect(thirdIsIn).toBe(false);
    first[Symbol.dispose]();
    await third;
  });

  it('counts one who leaves twice once', async () => {
    const turnstile = new Turnstile();
    const first = await turnstile.enter();
    const second = turnstile.enter();
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    await second;

    expect(turnstile.isTaken).toBe(true);
  });
});
