import { describe, expect, it } from 'vitest';
import { reasonOf } from './reason.ts';

describe('a reason', () => {
  it.each([
    ["EACCES: permission denied, open '/srv/a: b'", 'permission denied'],
    ['ENOSPC: no space left on device, write', 'no space left on device'],
    ['File exists (os error 17)', 'file exists'],
    ['I/O error (os error 5)', 'I/O error'],
    ["mkdir: cannot create directory '/srv/.exec-server-cp-1': No such file or directory", 'no such file or directory'],
    ["mv: cannot move '/srv/a: b' to './c': No space left on device", 'no space left on device'],
    ["sh: 1: cd: can't cd to /srv/x", "can't cd to /srv/x"],
    [
      'is a file where a directory is to be copied; remove it',
      'is a file where a directory is to be copied; remove it',
    ],
  ])('%s is shown as %s', (message, shown) => {
    expect(reasonOf(new Error(message))).toBe(shown);
  });
});
