import { parse, stringify, type TomlTable, type TomlValue } from 'smol-toml';

export type { TomlTable, TomlValue } from 'smol-toml';

/** Integers become bigints, and floats numbers, so that 1.0 is still a float when it is written again. */
export function parseToml(text: string): TomlTable {
  return parse(text, { integersAsBigInt: true });
}

export function writeToml(table: TomlTable): string {
  const text = stringify(table, { numbersAsFloat: true }).trimStart();
  return text.endsWith('\n') ? text : `${text}\n`;
}

export function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);
}

export type TomlPath = readonly string[];

/**
 * The part of a table that the paths name; undefined if there is none.
 * A value where a path expects a table is kept, because it hides the values of lower layers.
 */
export function selectPaths(table: TomlTable, paths: readonly TomlPath[]): TomlTable | undefined {
  const selected = select(table, paths);
  return Object.keys(selected).length === 0 ? undefined : selected;
}

function select(table: TomlTable, paths: readonly TomlPath[]): TomlTable {
  const selected: TomlTable = {};
  for (const [key, value] of Object.entries(table)) {
    const below = paths.filter(([first]) => first === key).map((path) => path.slice(1));
    if (below.length === 0) continue;
    const whole = below.some((path) => path.length === 0) || !isTable(value);
    setOwn(selected, key, whole ? value : select(value, below));
  }
  return selected;
}

/** Merges one table into another: tables are merged, other values are replaced. */
export function mergeTables(lower: TomlTable, upper: TomlTable): TomlTable {
  const merged: TomlTable = {};
  for (const [key, value] of Object.entries(lower)) setOwn(merged, key, value);
  for (const [key, value] of Object.entries(upper)) {
    const below = Object.hasOwn(merged, key) ? merged[key] : undefined;
    setOwn(merged, key, isTable(below) && isTable(value) ? mergeTables(below, value) : value);
  }
  return merged;
}

/** Sets a key. An assignment to `__proto__` would set the prototype instead. */
function setOwn(table: TomlTable, key: string, value: TomlValue): void {
  Object.defineProperty(table, key, { value, enumerable: true, configurable: true, writable: true });
}
