/** A value of the YAML people write by hand: maps, lists and scalars, which stay text. */
export type YamlValue = string | null | YamlValue[] | YamlMap;
export interface YamlMap {
  readonly [key: string]: YamlValue;
}

export function isYamlMap(value: YamlValue | undefined): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads block maps and lists, quoted, plain, folded and literal scalars, and lists and maps on one line.
 * It is lenient: a plain scalar may hold what YAML would forbid there, and lines that make no sense are passed over.
 * Anchors, tags and several documents are beyond it.
 */
export function parseYaml(text: string): YamlValue {
  return new YamlReader(text).value(0);
}

const keyed = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#\-[\]{}][^:]*|-[^\s:][^:]*)\s*:(?:\s+(.*))?$/;

class YamlReader {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#lines = text.split(/\r?\n/);
  }

  /** The value that starts at the next line, if that is indented at least so far. */
  value(atLeast: number): YamlValue {
    const line = this.#peek();
    if (!line || line.indent < atLeast) return null;
    if (isItem(line.text)) return this.#list(line.indent);
    if (keyed.test(line.text)) return this.#map(line.indent);
    this.#at++;
    return this.#scalar(line.text, line.indent - 1);
  }

  #map(indent: number): YamlMap {
    const entries: [string, YamlValue][] = [];
    for (let line = this.#peek(); line && line.indent >= indent; line = this.#peek()) {
      const [, key, rest = ''] = (line.indent === indent && keyed.exec(line.text)) || [];
      if (key === undefined && isItem(line.text) && line.indent === indent) break;
      this.#at++;
      if (key !== undefined) entries.push([unquoted(key.trim()), this.#entry(rest, indent)]);
    }
    return Object.fromEntries(entries);
  }

  #entry(rest: string, indent: number): YamlValue {
    const text = withoutComment(rest);
    if (text !== '') return this.#scalar(text, indent);
    const next = this.#peek();
    // A list may stand as far left as the key it belongs to.
    return this.value(next && isItem(next.text) ? indent : indent + 1);
  }

  #list(indent: number): YamlValue[] {
    const items: YamlValue[] = [];
    for (let line = this.#peek(); line && line.indent === indent && isItem(line.text); line = this.#peek()) {
      const rest = line.text.slice(1);
      const inner = indent + 1 + (rest.length - rest.trimStart().length);
      if (keyed.test(rest.trim())) {
        (this.#lines as string[])[this.#at] = ' '.repeat(inner) + rest.trim();
        items.push(this.#map(inner));
        continue;
      }
      this.#at++;
      items.push(this.#entry(rest.trim(), indent));
    }
    return items;
  }

  #scalar(text: string, indent: number): YamlValue {
    if (/^[|>][-+\d]*$/.test(text)) return this.#block(text[0] === '|' ? '\n' : ' ', indent);
    if (/^\[.*\]$/.test(text)) return flowItems(text).map(unquoted);
    if (/^\{.*\}$/.test(text)) return flowMap(text);
    return scalarOf([text, ...this.#deeper(indent)].map(withoutComment).join(' '));
  }

  #block(separator: string, indent: number): string {
    return this.#deeper(indent).join(separator);
  }

  /** The lines that continue a scalar. */
  #deeper(indent: number): string[] {
    const lines: string[] = [];
    for (let line = this.#lines[this.#at]; line !== undefined; line = this.#lines[this.#at]) {
      if (line.trim() !== '' && indentOf(line) <= indent) break;
      lines.push(line.trim());
      this.#at++;
    }
    while (lines.at(-1) === '') lines.pop();
    return lines;
  }

  #peek(): { indent: number; text: string } | undefined {
    while (/^\s*(#.*)?$/.test(this.#lines[this.#at] ?? 'x')) this.#at++;
    const line = this.#lines[this.#at];
    return line === undefined ? undefined : { indent: indentOf(line), text: line.trim() };
  }
}

const isItem = (text: string): boolean => text === '-' || text.startsWith('- ');
const indentOf = (line: string): number => line.length - line.trimStart().length;
const withoutComment = (text: string): string =>
  /^["']/.test(text)
    ? text.replace(/^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s+#.*$/, '$1')
    : text.replace(/(^|\s+)#.*$/, '');

const flowItems = (text: string): string[] =>
  [...text.slice(1, -1).matchAll(/\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+)\s*(?:,|$)/g)].map(([, item]) =>
    item!.trim(),
  );

function flowMap(text: string): YamlMap {
  const entries = flowItems(text).map((item) => keyed.exec(item) ?? [item, item, '']);
  return Object.fromEntries(entries.map(([, key, value]) => [unquoted(key!), scalarOf(value ?? '')]));
}

function scalarOf(text: string): string | null {
  return text === '' || text === '~' || text === 'null' ? null : unquoted(text);
}

function unquoted(text: string): string {
  if (/^'.*'$/s.test(text)) return text.slice(1, -1).replaceAll("''", "'");
  if (!/^".*"$/s.test(text)) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.slice(1, -1); // escapes that JSON does not know
  }
}
