import { expect, it } from 'vitest';
import { Slots } from './slots.ts';

it('slots are handed over in the order of asking, and who leaves the line takes none', async () => {
  const slots = new Slots(1);
  const entered: string[] = [];
  const first = await slots.take();
  const abort = new AbortController();
  const enter = (name: string, signal?: AbortSignal) =>
    slots.take(signal).then(
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
  using _again = await slots.take();

  expect(entered).toEqual(['not b', 'a', 'c']);
});
