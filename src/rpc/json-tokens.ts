// Slow questions about JSON text that is already known to be valid; asked only when something is odd about it.

const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

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

/** Every member with the token its value starts with; `open` is the stack of containers around it. */
function* members(text: string, open: (Set<string> | undefined)[]): Generator<{ key: string; value: string }> {
  const tokens = text.match(token) ?? [];
  for (const [at, part] of tokens.entries()) {
    if (part === '{') open.push(new Set());
    else if (part === '[') open.push(undefined);
    else if (part === '}' || part === ']') open.pop();
    else if (part === ':') yield { key: JSON.parse(tokens[at - 1]!) as string, value: tokens[at + 1]! };
  }
}
