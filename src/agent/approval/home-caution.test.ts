import { describe, expect, it } from 'vitest';
import { homeCaution } from './home-caution.ts';

describe('a command that rules let out of the sandbox', () => {
  it.each(['.profile', '.bash_profile', '.bashrc', '.zshenv'])(
    'is not alone in what it runs where other commands can write %s',
    (name) => {
      const isWritable = (path: string) => path === `/home/user/${name}`;
      expect(homeCaution({ home: '/home/user', isWritable })).toBe(`commands can write /home/user/${name}`);
    },
  );

  it('is as the rules say where none of them can be written', () => {
    const isWritable = (path: string) => path.startsWith('/home/user/project/');
    expect(homeCaution({ home: '/home/user', isWritable })).toBeUndefined();
  });

  it.each([
    ['ZDOTDIR', '/work/zsh', '/work/zsh/.zshenv'],
    ['BASH_ENV', '/work/env', '/work/env'],
    ['ENV', '/work/env', '/work/env'],
  ])('is not alone where %s names a file that commands can write', (name, value, file) => {
    const isWritable = (path: string) => path === file;
    const judged = [{ variables: { [name]: value } }, {}].map((known) =>
      homeCaution({ home: '/home/user', isWritable, ...known }),
    );
    expect(judged).toEqual([`commands can write ${file}`, undefined]);
  });
});
