import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Edit, PatchError } from './changes.ts';
import { parsePatch } from './parser.ts';
import { editText } from './text-edit.ts';

function edit(text: string, ...lines: string[]): string {
  const patch = ['*** Begin Patch', '*** Update File: f', ...lines, '*** End Patch'].join('\n');
  const [change] = parsePatch(patch).changes;
  if (change?.kind !== 'update') throw new Error('no update');
  return editText(text, change.chunks, '/d/f');
}

describe('an edited text', () => {
  it.each([
    ['replaces lines between others', 'a\nb\nc\n', ['@@', ' a', '-b', '+B', '+B2', ' c'], 'a\nB\nB2\nc\n'],
    ['is searched below its context', 'f\nx\ng\nx\n', ['@@ g', '-x', '+y'], 'f\nx\ng\ny\n'],
    ['is edited in several places in order', 'a\nb\nc\n', ['@@', '-a', '+A', '@@', '-c', '+C'], 'A\nb\nC\n'],
    ['takes lines without a place at its end', 'a\n', ['@@', '+b'], 'a\nb\n'],
    ['may have been empty', '', ['@@', '+b'], 'b\n'],
    ['may become empty', 'a\nb\n', ['@@', '-a', '-b'], ''],
    ['is searched at its end alone if asked', 'x\na\nx\n', ['@@', '-x', '+y', '*** End of File'], 'x\na\ny\n'],
    ['gets the newline its last line lacks', 'a\nb', ['@@', '-a', '+A'], 'A\nb\n'],
    ['keeps blanks the patch forgot', '  a\n\tb  \nc\n', ['@@', ' a', ' b', '-c', '+C'], '  a\n\tb  \nC\n'],
    ['keeps typographic punctuation', 'x — “y”\nz\n', ['@@', ' x - "y"', '-z', '+Z'], 'x — “y”\nZ\n'],
    ['prefers the exact line to a similar one above', ' x\nx\n', ['@@', '-x', '+y'], ' x\ny\n'],
    ['prefers other blanks to other punctuation', 'x—y\n  x-y\n', ['@@', '-x-y', '+z'], 'x—y\nz\n'],
    ['forgives an empty line at the end of a chunk', 'a\nb\n', ['@@', '-a', '+A', '', '@@', '-b', '+B'], 'A\nB\n'],
    ['keeps Windows line endings', 'a\r\nb\r\n', ['@@', ' a', '-b', '+B', '+C'], 'a\r\nB\r\nC\r\n'],
    ['keeps the ending of each line that stays', 'a\r\nb\nc\n', ['@@', '-c', '+C'], 'a\r\nb\nC\r\n'],
    ['keeps its byte order mark', '\ufeffa\n', ['@@', '-a', '+A'], '\ufeffA\n'],
  ])('%s', (_, before, lines, after) => {
    expect(edit(before, ...lines)).toBe(after);
  });

  it.each([
    [['@@', '-x', '+y'], 'Failed to find expected lines in /d/f:\nx'],
    [['@@', ' a', '-b', ' x'], 'Failed to find expected lines in /d/f:\na\nb\nx'],
    [['@@ x', '-a'], "Failed to find context 'x' in /d/f"],
    [['@@', '-b', '@@', '-a'], 'Failed to find expected lines in /d/f:\na'],
    [['@@', '-a', '+x', '*** End of File'], 'Failed to find expected lines in /d/f:\na'],
  ])('cannot be had from %j', (lines, message) => {
    expect(() => edit('a\nb\n', ...lines)).toThrow(new PatchError(message));
  });

  it('is what the edits of the whole text say', () => {
    const line = fc.constantFrom('a', 'b', ' a', 'c ', '-', 'x—y');
    const edits = fc.array(fc.record({ kind: fc.constantFrom('keep', 'add', 'remove'), line }), { minLength: 1 });

    fc.assert(
      fc.property(edits as fc.Arbitrary<Edit[]>, (all) => {
        fc.pre(all.some(({ kind }) => kind !== 'add'));
        const textOf = (without: Edit['kind']) =>
          all
            .filter(({ kind }) => kind !== without)
            .map(({ line }) => `${line}\n`)
            .join('');
        const chunks = [{ context: undefined, edits: all, isAtEnd: false }];
        expect(editText(textOf('add'), chunks, '/d/f')).toBe(textOf('remove'));
      }),
    );
  });
});
