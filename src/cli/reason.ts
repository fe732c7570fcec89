/** What went wrong, in the words of the system: without codes, calls and the names of programs around them. */
export function messageOf(error: unknown): string {
  const reason = (error as Error).message
    .replace(/^E[A-Z0-9]+: (.*), \w+(?: '.*')?$/s, '$1')
    .replace(/ \(os error \d+\)$/, '')
    .replace(/^(?:sh|mkdir|chmod|ln|mv|find|stat|readlink): (?:.*: )?(?=[^:]+$)/s, '');
  return reason.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
}
