import { describe, expect, it } from 'vitest';
import { signalName } from './signal-numbers.ts';

describe('the name of a signal', () => {
  it.each([
    [6, 'SIGABRT'],
    [9, 'SIGKILL'],
    [25, 'SIGXFSZ'],
    [29, 'SIGIO'],
    [32, 'SIG32'],
    [34, 'SIGRTMIN'],
    [64, 'SIGRTMIN+30'],
  ])('of number %i is %s', (number, name) => {
    expect(signalName(number)).toBe(name);
  });
});
