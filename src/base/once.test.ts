import { expect, it } from 'vitest';
import { once } from './once.ts';

it('makes its value at the first call only, also where that is undefined', () => {
  let calls = 0;
  const value = once(() => void calls++);

  expect(calls).toBe(0);
  expect([value(), value()]).toEqual([undefined, undefined]);
  expect(calls).toBe(1);
});

it('tries again where making it has failed', () => {
  const answers = [
    () => 'there',
    () => {
      throw new Error('not yet');
    },
  ];
  const value = once(() => answers.pop()!());

  expect(value).toThrow('not yet');
  expect(value()).toBe('there');
});
