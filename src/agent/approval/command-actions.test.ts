import { describe, expect, it } from 'vitest';
import { actionsOf } from './command-actions.ts';

const read = (command: string, path: string) => ({ type: 'read', command, name: path.split('/').at(-1), path });
const script = (text: string) => actionsOf(['/bin/bash', '-c', text], '/work');

describe('the actions of a command', () => {
  // Each of these is what Codex 0.166.0 shows for the same command.
  it.each([
    ['ls', [{ type: 'listFiles', command: 'ls' }]],
    ['ls -la src', [{ type: 'listFiles', command: 'ls -la src', path: 'src' }]],
    ['rg --files src', [{ type: 'listFiles', command: 'rg --files src', path: 'src' }]],
    ['head -n 5 f.txt', [read('head -n 5 f.txt', '/work/f.txt')]],
    ['tail -n +3 a', [read('tail -n +3 a', '/work/a')]],
    ['nl f.txt', [read('nl f.txt', '/work/f.txt')]],
    ['sed -n 1,5p a.txt', [read("sed -n '1,5p' a.txt", '/work/a.txt')]],
    ['grep -rn foo src', [{ type: 'search', command: 'grep -rn foo src', query: 'foo', path: 'src' }]],
    ['rg foo', [{ type: 'search', command: 'rg foo', query: 'foo' }]],
    ['git grep foo', [{ type: 'search', command: 'git grep foo', query: 'foo' }]],
    ['find . -name x', [{ type: 'search', command: 'find . -name x', query: 'x', path: '.' }]],
    ['cd src && ls', [{ type: 'listFiles', command: 'ls' }]],
    [
      'tail -n 3 d/f.txt | grep x',
      [read('tail -n 3 d/f.txt', '/work/d/f.txt'), { type: 'search', command: 'grep x', query: 'x' }],
    ],
    ['ls && head -n 2 a', [{ type: 'listFiles', command: 'ls' }, read('head -n 2 a', '/work/a')]],
    ['echo hi', [{ type: 'unknown', command: 'echo hi' }]],
    ['head -n 1', [{ type: 'unknown', command: 'head -n 1' }]],
    ['printf x > y', [{ type: 'unknown', command: 'printf x > y' }]],
    ['ls && git status', [{ type: 'unknown', command: 'ls && git status' }]],
  ])('%s', (text, actions) => {
    expect(script(text)).toEqual(actions);
  });

  it('follow the directory a script changes to', () => {
    expect(script('cd /etc && cat hosts')).toEqual([read('cat hosts', '/etc/hosts')]);
  });

  it('are unknown for what only looks like reading', () => {
    for (const text of ['find . -delete', 'find . -name x -delete', 'sed -n w/etc/x a', 'cat a b', 'rg --pre sh x']) {
      expect(script(text)).toEqual([{ type: 'unknown', command: text }]);
    }
  });

  it('are told for a command without a shell as well', () => {
    expect(actionsOf(['cat', 'a b'], '/work')).toEqual([read("cat 'a b'", '/work/a b')]);
    expect(actionsOf(['make', 'a b'], '/work')).toEqual([{ type: 'unknown', command: "make 'a b'" }]);
  });
});
