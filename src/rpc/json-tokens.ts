// Slow examination of valid JSON text, for messages with duplicate keys, floats, large ids or escaped surrogates. Strings are
// skipped by hand: a regular expression runs out of stack on one of some million characters.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const punctuation = '{}[]:,';
const scalar = /[^\s{}[\]:,"]+/y;

/** The first member name that occurs twice in one object. */
export function duplicateKey(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (const { key } of members(text, open)) {
    const seen = open.at(-1);
    if (seen?.has(key)) return key;
    seen?.add(key);
  }
  return undefined;
}

/** The text of a scalar member of the outermost object. */
export function topLevelToken(text: string, name: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (const { key, value } of members(text, open)) {
    if (open.length === 1 && key === name) return value;
  }
  return undefined;
}

/** The text with every number in float notation replaced. */
export function replaceFloats(text: string, replacement: string): string {
  const parts: string[] = [];
  let copied = 0;
  for (const { token, start } of tokens(text)) {
    if (!/^-?\d/.test(token) || !/[.eE]/.test(token)) continue;
    parts.push(text.slice(copied, start), replacement);
    copied = start + token.length;
  }
  return parts.join('') + text.slice(copied);
}

/** The position of the quote that closes the string with this opening quote. */
export function closingQuote(text: string, opening: number): number {
  const first = text.indexOf('"', opening + 1);
  if (text.charCodeAt(first - 1) !== BACKSLASH) return first;
  let at = opening + 1;
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Whether a name or a text contains half of a surrogate pair, which only an escape can write. */
export function hasLoneSurrogate(text: string, root: unknown): boolean {
  if (!text.includes('\\u') || !/\\u[dD][89a-fA-F]/.test(text)) return false; // `includes` is far faster
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string' && halfPair.test(value)) return true;
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) for (const name of Object.keys(value)) open.push(name);
    for (const item of Object.values(value)) open.push(item);
  }
  return false;
}

/** With the flag `u` a whole pair is one character and does not match. */
const halfPair = /\p{Surrogate}/u;

/** Every member with the token its value starts with; `open` is the stack of containers around it. */
function* members(text: string, open: (Set<string> | undefined)[]): Generator<{ key: string; value: string }> {
  let before = '';
  let key: string | undefined;
  for (const { token } of tokens(text)) {
    if (key !== undefined) yield { key, value: token };
    key = token === ':' ? (JSON.parse(before) as string) : undefined;
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    before = token;
  }
}

function* tokens(text: string): Generator<{ token: string; start: number }> {
  for (let start = 0; start < text.length; start++) {
    if (text.charCodeAt(start) <= 0x20) continue;
    const end = tokenEnd(text, start);
    if (end === start) continue;
    yield { token: text.slice(start, end), start };
    start = end - 1;
  }
}

/** The end of the token at `start`; equal to `start` if there is none. */
function tokenEnd(text: string, start: number): number {
  if (text.charCodeAt(start) === QUOTE) return closingQuote(text, start) + 1;
  if (punctuation.includes(text[start]!)) return start + 1;
  scalar.lastIndex = start;
  return scalar.test(text) ? scalar.lastIndex : start;
}
