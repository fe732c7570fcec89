import { type Chunk, type Edit, PatchError } from './changes.ts';
import { LineSearch } from './line-search.ts';

interface Replacement {
  readonly at: number;
  readonly count: number;
  readonly lines: readonly string[];
}

const BYTE_ORDER_MARK = '\ufeff';

/**
 * Applies the chunks of a patch to a text; they must be in the order of its lines. Kept lines keep their spelling and their line
 * ending; new lines get the ending of the first line.
 */
export function editText(text: string, chunks: readonly Chunk[], path: string): string {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const lines = linesOf(text.slice(mark.length));
  const ending = lines[0]?.endsWith('\r\n') ? '\r\n' : '\n';
  const replacements = place(lines, chunks, path, ending).sort((one, other) => one.at - other.at);
  const edited: string[] = [];
  let kept = 0;
  for (const { at, count, lines: fresh } of replacements) {
    edited.push(...lines.slice(kept, at), ...fresh);
    kept = at + count;
  }
  edited.push(...lines.slice(kept));
  return mark + edited.map((line) => (line.endsWith('\n') ? line : line + ending)).join('');
}

/** Lines with their endings. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function place(lines: readonly string[], chunks: readonly Chunk[], path: string, ending: string): Replacement[] {
  const search = new LineSearch(lines.map((line) => line.replace(/\r?\n$/, '')));
  let from = 0;
  return chunks.map(({ context, edits, isAtEnd }) => {
    if (context !== undefined) {
      const found = search.find([context], from);
      if (found === undefined) throw new PatchError(`Failed to find context '${context}' in ${path}`);
      from = found + 1;
    }
    const located = locate(search, edits, from, isAtEnd);
    if (located === undefined) {
      throw new PatchError(`Failed to find expected lines in ${path}:\n${oldLines(edits).join('\n')}`);
    }
    const count = oldLines(located.edits).length;
    if (count === 0) return { at: lines.length, count, lines: newLines(located.edits, [], ending) };
    from = located.at + count;
    return { at: located.at, count, lines: newLines(located.edits, lines.slice(located.at, from), ending) };
  });
}

/** Finds the lines that the edits are about. An empty last line that the file does not have is ignored, as models often add one. */
function locate(
  search: LineSearch,
  edits: readonly Edit[],
  from: number,
  isAtEnd: boolean,
): { at: number; edits: readonly Edit[] } | undefined {
  const old = oldLines(edits);
  const at = search.find(old, from, isAtEnd);
  if (at !== undefined) return { at, edits };
  if (old.at(-1) !== '') return undefined;
  const shorter = withoutLastOld(edits);
  const shorterAt = search.find(oldLines(shorter), from, isAtEnd);
  return shorterAt === undefined ? undefined : { at: shorterAt, edits: shorter };
}

function withoutLastOld(edits: readonly Edit[]): Edit[] {
  const last = edits.findLastIndex(({ kind }) => kind !== 'add');
  const after = edits.at(-1)?.line === '' ? edits.slice(last + 1, -1) : edits.slice(last + 1);
  const isNewInTheMiddle = edits[last]?.kind === 'keep' && after.length > 0;
  return [...edits.slice(0, last), ...(isNewInTheMiddle ? [{ kind: 'add' as const, line: '' }] : []), ...after];
}

const oldLines = (edits: readonly Edit[]): string[] =>
  edits.filter(({ kind }) => kind !== 'add').map(({ line }) => line);

/** The lines after the edits. Kept lines are taken from the file, as their spelling may differ from the patch. */
function newLines(edits: readonly Edit[], present: readonly string[], ending: string): string[] {
  let at = 0;
  return edits.flatMap(({ kind, line }) => {
    if (kind === 'add') return [line + ending];
    const original = present[at++]!;
    return kind === 'keep' ? [original] : [];
  });
}
