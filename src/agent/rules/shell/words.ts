/** Splits a line into words by POSIX quoting; undefined where a quote is open. A word that begins with `#` starts a comment. */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  while (at < line.length) {
    const character = line[at]!;
    at += 1;
    if (/[ \t\n]/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === '#' && word === undefined) {
      at = line.indexOf('\n', at) < 0 ? line.length : line.indexOf('\n', at);
    } else if (character === "'") {
      const end = line.indexOf("'", at);
      if (end < 0) return undefined;
      word = (word ?? '') + line.slice(at, end);
      at = end + 1;
    } else if (character === '"') {
      const quoted = /((?:[^"\\]|\\[\s\S])*)"/y;
      quoted.lastIndex = at;
      const inside = quoted.exec(line);
      if (!inside) return undefined;
      word = (word ?? '') + inside[1]!.replace(/\\([\s\S])/g, (pair, next: string) => quotedEscape(pair, next));
      at += inside[0].length;
    } else if (character === '\\') {
      if (at === line.length) return undefined;
      if (line[at] !== '\n') word = (word ?? '') + line[at];
      at += 1;
    } else {
      word = (word ?? '') + character;
    }
  }
  return word === undefined ? words : [...words, word];
}

function quotedEscape(pair: string, next: string): string {
  if (next === '\n') return '';
  return '$`"\\'.includes(next) ? next : pair;
}

/** Joins words into a line that splits into the same words. */
export function joinWords(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}

/** Quotes a word piece by piece: each piece has as many characters as one way of quoting can hold. */
function quoteWord(word: string): string {
  if (word === '') return "''";
  let quoted = '';
  for (let rest = word; rest !== ''; ) {
    const piece = longest(rest);
    quoted += piece.quoted;
    rest = rest.slice(piece.length);
  }
  return quoted;
}

/** The longest piece; of equal ones plain text is preferred, then single quotes. Only single quotes hold a leading `^`. */
function longest(text: string): { length: number; quoted: string } {
  const plain = /^[-+./:@\]_0-9A-Za-z]*/.exec(text)![0];
  const single = /^\^?[^'\\^]*/.exec(text)![0];
  const double = /^[^`$!^]*/.exec(text)![0];
  if (plain.length >= Math.max(single.length, double.length)) return { length: plain.length, quoted: plain };
  if (single.length >= double.length) return { length: single.length, quoted: `'${single}'` };
  return { length: double.length, quoted: `"${double.replace(/["\\]/g, '\\$&')}"` };
}
