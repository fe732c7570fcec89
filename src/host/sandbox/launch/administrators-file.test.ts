import { describe, expect, it } from 'vitest';
import { isAdministratorsFile, onlyAdministratorWrites } from './administrators-file.ts';

const machine = { map: '         0          0 4294967295\n', overflow: 65_534 };
const rootless = { map: '         0       1000          1\n         1     100000      65533\n', overflow: 65_534 };
const wide = { map: '0 1000 1\n1 100000 65536\n', overflow: 65_534 };

describe('a file of the administrator', () => {
  it.each([
    ['root’s', 0, 0o100755, machine, true],
    ['root’s with the setuid bit', 0, 0o104755, machine, true],
    ['root’s that its group may write', 0, 0o100775, machine, false],
    ['root’s that all may write', 0, 0o100757, machine, false],
    ['an ordinary user’s', 1000, 0o100755, machine, false],
    ['one of the user that is called nobody', 65_534, 0o100755, machine, false],
    ['one from outside a rootless container', 65_534, 0o100755, rootless, true],
    ['one from outside that all may write', 65_534, 0o100777, rootless, false],
    ['one of a container’s own user of that number', 65_534, 0o100755, wide, false],
    ['one of another user of a container', 33, 0o100755, rootless, false],
  ])('%s', (_, uid, mode, users, expected) => {
    expect(onlyAdministratorWrites({ uid, mode }, users)).toBe(expected);
  });

  it('is a file', () => {
    expect(isAdministratorsFile('/usr/bin/env')).toBe(true);
    expect(isAdministratorsFile('/usr/bin')).toBe(false);
    expect(isAdministratorsFile('/usr/bin/no-such-program')).toBe(false);
  });
});
