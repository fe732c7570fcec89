import { expect, it } from 'vitest';
import { Semaphore } from './semaphore.ts';

it('a semaphore is acquired in the order of the calls, and not by a caller whose signal has aborted', async () => {
  const semaphore = new Semaphore(1);
  const entered: string[] = [];
  const first = await semaphore.acquire();
  const abort = new AbortController();
  const enter = (name: string, signal?: AbortSignal) =>
    semaphore.acquire(signal).then(
      (slot) => {
        entered.push(name);
        slot[Symbol.dispose]();
      },
      () => entered.push(`not ${name}`),
    );

  const all = [enter('a'), enter('b', abort.signal), enter('c')];
  abort.abort();
  first[Symbol.dispose]();
  await Promise.all(all);
  using _again = await semaphore.acquire();

  expect(entered).toEqual(['not b', 'a', 'c']);
});
