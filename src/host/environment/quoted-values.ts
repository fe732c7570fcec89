/**
 * Quotes values that YAML does not allow as plain text and people write all the same, such as `description: Use when: a test fails`.
 * The reference reads the head of a skill once more after this when it is not valid as it stands.
 */
export function quoteInvalidValues(text: string): string {
  return text.split(/\r?\n/).map(quoteValue).join('\n');
}

const KEY_AND_VALUE = /^(\s*(?:- )?[^\s"'#[\]{}:-][^:]*:[ \t]+)(\S.*)$/;

function quoteValue(line: string): string {
  const [, key, rest = ''] = KEY_AND_VALUE.exec(line) ?? [];
  const value = rest.replace(/\s+#.*$/, '').trimEnd();
  return key !== undefined && isInvalid(value) ? `${key}'${value.replaceAll("'", "''")}'` : line;
}

/** A value that is quoted, or a block, is left alone. */
function isInvalid(value: string): boolean {
  if (/^["'|>]/.test(value)) return false;
  return /:\s/.test(value) || /^[`@]/.test(value) || /^\[.*[^\]]$|^\{.*[^}]$|^[[{]$/.test(value);
}
