import { expect, it } from 'vitest';
import { announceListener, leadsToOwnListener } from './own-listeners.ts';

it('is announced for as long as one listener has its port: on another address there may be a second', async () => {
  const port = 70_000; // that no listener has
  const isOwn = (): Promise<boolean> => leadsToOwnListener(['127.0.0.1'], port, ['work']);
  const [first, second] = [announceListener('work', port), announceListener('work', port)];
  expect(await isOwn()).toBe(true);
  first[Symbol.dispose]();
  expect(await isOwn()).toBe(true);
  second[Symbol.dispose]();
  expect(await isOwn()).toBe(false);
});
