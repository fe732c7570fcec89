import { describe, expect, it } from 'vitest';
import { accountOf, accountVariables } from './account.ts';

const files: Readonly<Record<string, string>> = {
  '/etc/passwd': 'root:x:0:0:root:/root:/bin/bash\nbuild:x:1001:1002:,,,:/home/build:/bin/zsh\nbare:x:1003:1003:::\n',
  '/etc/group': 'root:x:0:\nbuild:x:1002:\ndocker:x:999:other,build\nvideo:x:44:builder\n',
};
const found = (user: string) => accountOf(user, (path) => files[path]!);

describe('the account of a name', () => {
  it('has its supplementary groups and its login', () => {
    expect(found('build')).toEqual({
      uid: 1001,
      gid: 1002,
      groups: [1002, 999],
      login: { name: 'build', home: '/home/build', shell: '/bin/zsh' },
    });
  });

  it.each(['builder', '1001', '1001:', ':1002', '-1:0', '4294967295:0', '0:4294967295', ''])(
    'is missing for %j',
    (user) => {
      expect(found(user)).toBeUndefined();
    },
  );
});

describe('the account of numbers', () => {
  it('has no group but its own, and the login of the user if there is one', () => {
    expect(found('1001:5')).toMatchObject({ uid: 1001, gid: 5, groups: [5], login: { name: 'build' } });
    expect(found('7:8')).toEqual({ uid: 7, gid: 8, groups: [8] });
  });
});

describe('the variables of an account', () => {
  it.each([
    ['build', { HOME: '/home/build', USER: 'build', LOGNAME: 'build', SHELL: '/bin/zsh' }],
    ['bare', { HOME: '/', USER: 'bare', LOGNAME: 'bare', SHELL: '/bin/sh' }],
    ['7:8', { HOME: '/', USER: '7', LOGNAME: '7', SHELL: '/bin/sh' }],
  ])('of %s name it, its home and its shell', (user, variables) => {
    expect(accountVariables(found(user)!)).toEqual(variables);
  });
});
