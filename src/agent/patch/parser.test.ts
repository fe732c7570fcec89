import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PatchError } from './changes.ts';
import { parsePatch } from './parser.ts';

const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');

describe('a patch', () => {
  it('names files to add, delete, update and move', () => {
    const text = patch(
      ...['*** Add File: a/new.txt', '+one', '+'],
      '*** Delete File: old.txt',
      ...['*** Update File: b.txt', '*** Move to: c.txt', '@@ head', ' keep', '-out', '+in', '', '*** End of File'],
    );

    expect(parsePatch(text)).toEqual({
      environmentId: undefined,
      changes: [
        { kind: 'add', path: 'a/new.txt', content: 'one\n\n' },
        { kind: 'delete', path: 'old.txt' },
        {
          kind: 'update',
          path: 'b.txt',
          moveTo: 'c.txt',
          chunks: [
            {
              context: 'head',
              isAtEnd: true,
              edits: [
                { kind: 'keep', line: 'keep' },
                { kind: 'remove', line: 'out' },
                { kind: 'add', line: 'in' },
                { kind: 'keep', line: '' },
              ],
            },
          ],
        },
      ],
    });
  });

  it.each([
    ['blanks around it', `\n\n  ${patch('*** Delete File: a')}  \n`],
    ['Windows line endings', patch('*** Delete File: a').replaceAll('\n', '\r\n')],
    ['an indented header', patch('  *** Delete File: a')],
    ['the marks of a here-document', `<<'EOF'\n${patch('*** Delete File: a')}\nEOF`],
  ])('is read with %s', (_, text) => {
    expect(parsePatch(text).changes).toEqual([{ kind: 'delete', path: 'a' }]);
  });

  it('may leave the first context marker out', () => {
    const [change] = parsePatch(patch('*** Update File: a', '-x', '+y', '@@', '-z')).changes;

    expect(change).toMatchObject({ chunks: [{ context: undefined }, { context: undefined }] });
  });

  it('may name an environment', () => {
    expect(parsePatch(patch('*** Environment ID: box', '*** Delete File: a')).environmentId).toBe('box');
  });

  const headers = "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'";
  const prefixes = "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)";
  it.each([
    ['', "invalid patch: The last line of the patch must be '*** End Patch'"],
    ['nonsense', "invalid patch: The first line of the patch must be '*** Begin Patch'"],
    ['*** Begin Patch\n*** Delete File: a', "invalid patch: The last line of the patch must be '*** End Patch'"],
    [patch('*** End Patch', '*** Delete File: a'), "invalid patch: The last line of the patch must be '*** End Patch'"],
    [patch('*** Environment ID: '), 'invalid patch: apply_patch environment_id cannot be empty'],
    [patch('foo'), `invalid hunk at line 2, 'foo' is not a valid hunk header. ${headers}`],
    [patch('*** Add File: ', '+x'), `invalid hunk at line 2, '*** Add File:' is not a valid hunk header. ${headers}`],
    [patch('*** Add File: a', '+x', 'y'), `invalid hunk at line 4, 'y' is not a valid hunk header. ${headers}`],
    [patch('*** Update File: a'), "invalid hunk at line 2, Update file hunk for path 'a' is empty"],
    [patch('*** Update File: a', '*** Move to: b'), "invalid hunk at line 2, Update file hunk for path 'a' is empty"],
    [patch('*** Update File: a', '@@'), 'invalid hunk at line 4, Update hunk does not contain any lines'],
    [
      patch('*** Update File: a', 'bogus'),
      `invalid hunk at line 3, Unexpected line found in update hunk: 'bogus'. ${prefixes}`,
    ],
    [
      patch('*** Update File: a', '@@ one', '@@ two', '-x'),
      `invalid hunk at line 4, Unexpected line found in update hunk: '@@ two'. ${prefixes}`,
    ],
    [
      patch('*** Update File: a', '@@', '-x', 'bogus'),
      "invalid hunk at line 5, Expected update hunk to start with a @@ context marker, got: 'bogus'",
    ],
  ])('%j is refused with the reason', (text, message) => {
    expect(() => parsePatch(text)).toThrow(new PatchError(message));
  });

  it('is read back as it was written, whatever the lines hold', () => {
    const line = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n]/.test(text));
    const edit = fc.record({ kind: fc.constantFrom('keep', 'add', 'remove'), line });
    const prefix = { keep: ' ', add: '+', remove: '-' } as Readonly<Record<string, string>>;

    fc.assert(
      fc.property(fc.array(edit, { minLength: 1 }), (edits) => {
        const text = patch('*** Update File: a', '@@', ...edits.map(({ kind, line }) => prefix[kind] + line));
        const [change] = parsePatch(text).changes;
        expect(change).toMatchObject({ chunks: [{ edits }] });
      }),
    );
  });
});
