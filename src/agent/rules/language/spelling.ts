/** The end of a message about an unknown name: the nearest known name, if one is one or two edits away. */
export function suggestion(name: string, known: readonly string[]): string {
  const limit = name.length <= 2 ? 1 : 2;
  const ranked = known.map((other) => ({ other, edits: edits(name, other) })).filter(({ edits }) => edits <= limit);
  const nearest = ranked.sort((left, right) => left.edits - right.edits)[0];
  return nearest ? `, did you mean \`${nearest.other}\`?` : '';
}

/** The Levenshtein distance. */
function edits(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [y, from] of [...left].entries()) {
    const next = [y + 1];
    for (const [x, to] of [...right].entries()) {
      next.push(Math.min(row[x + 1]! + 1, next[x]! + 1, row[x]! + (from === to ? 0 : 1)));
    }
    row = next;
  }
  return row.at(-1)!;
}
