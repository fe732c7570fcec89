import { describe, expect, it } from 'vitest';
import { changeLines } from './change-lines.ts';

describe('changes to files as lines', () => {
  it('name every file and show what is written below it', () => {
    expect(
      changeLines([
        { kind: 'add', path: '/w/a', diff: ['+one', '+two'] },
        { kind: 'move', path: '/w/b', movedTo: '/w/c d', diff: ['@@', '-x', '+y'] },
        { kind: 'delete', path: '/w/e', diff: [] },
      ]),
    ).toEqual([
      'add /w/a',
      '    +one',
      '    +two',
      "move /w/b to '/w/c d'",
      '    @@',
      '    -x',
      '    +y',
      'delete /w/e',
    ]);
  });

  it('name every file however much is written, and count what is not shown', () => {
    const diff = Array.from({ length: 100 }, (_, n) => `+${n}`);
    const lines = changeLines([
      { kind: 'add', path: '/w/a', diff },
      { kind: 'update', path: '/etc/passwd', diff: ['+x'] },
      { kind: 'add', path: '/w/b', diff: ['+'.repeat(1_000)] },
    ]);

    expect(lines.slice(59)).toEqual([
      '    +58',
      '    +59',
      '    (40 more lines)',
      'update /etc/passwd',
      '    (1 more line)',
      'add /w/b',
      '    (1 more line)',
    ]);
    expect(changeLines([{ kind: 'add', path: '/a', diff: ['+'.repeat(1_000)] }])[1]).toHaveLength(4 + 200 + 1);
  });

  it('cannot be made to name other files, nor hide a part of a name', () => {
    expect(
      changeLines([
        { kind: 'add', path: '/w/a\ndelete /w/b\u202e', diff: ['+x\ndelete /w/c', '+\u001b[2K', '+\tindented'] },
        { kind: 'update', path: '/w/a to /w/b', diff: [] },
        { kind: 'update', path: '/w/token=hosts', diff: ['+token=hunter2'] },
      ]),
    ).toEqual([
      "add $'/w/a\\ndelete /w/b\\u202e'",
      "    +$'x\\ndelete /w/c'",
      "    +$'\\e[2K'",
      '    +\tindented',
      "update '/w/a to /w/b'",
      "update '/w/token=hosts'",
      '    +token=hunter2',
    ]);
  });
});
