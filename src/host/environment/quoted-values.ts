/**
 * Quotes values that are not valid plain text in YAML but common, such as `description: Use when: a test fails`.
 * The reference does so, and parses the head of a skill again, if the head is not valid YAML.
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

/** Whether a value needs quotes. Quoted values and blocks do not. */
function isInvalid(value: string): boolean {
  if (/^["'|>]/.test(value)) return false;
  return /:\s/.test(value) || /^[`@]/.test(value) || /^\[.*[^\]]$|^\{.*[^}]$|^[[{]$/.test(value);
}
