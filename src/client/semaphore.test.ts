import { expect, it } from 'vitest';
import { Semaphore } from './semaphore.ts';

it('slots are handed over in the order of asking, and who leaves the line takes none', async () => {
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
