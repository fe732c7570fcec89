import { describe, expect, it } from 'vitest';
import { showsOnlyDenial } from './denial.ts';

describe('a refused command', () => {
  it.each([
    ["touch: cannot touch '/x': Read-only file system\n", true],
    ['sh: 1: cannot create /x: PERMISSION DENIED\nsh: 1: cannot create /y: Operation not permitted\n', true],
    ['', true],
    ["started\ntouch: cannot touch '/x': Read-only file system\n", false],
  ])('that prints %j has shown nothing else: %s', (text, expected) => {
    expect(showsOnlyDenial(text)).toBe(expected);
  });
});
