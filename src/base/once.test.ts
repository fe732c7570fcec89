import { expect, it } from 'vitest';
import { once } from './once.ts';

it('makes its value at the first call only, even if that is undefined', () => {
  let calls = 0;
  const value = once(() => void calls++);

  expect(calls).toBe(0);
  expect([value(), value()]).toEqual([undefined, undefined]);
  expect(calls).toBe(1);
});

it('tries again after a failure', () => {
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
