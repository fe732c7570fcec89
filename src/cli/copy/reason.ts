/** The system's description of an error, without the codes, calls and program names around it. */
export function reasonOf(error: unknown): string {
  const reason = (error as Error).message
    .replace(/^E[A-Z0-9]+: (.*), \w+(?: '.*')?$/s, '$1')
    .replace(/ \(os error \d+\)$/, '')
    .replace(/^(?:sh|mkdir|chmod|ln|mv|find|stat|readlink): (?:.*: )?(?=[^:]+$)/s, '');
  return reason.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
}
