import type { AccessToken, TokenEntry } from '../access/index.ts';

/** A token in a sentence. */
export function describeToken({ name, scopes }: Pick<TokenEntry, 'name' | 'scopes'>): string {
  return `${name} (${scopes.join(', ') || 'no scope'})`;
}

/** The tokens in columns, for a person. */
export function tokenTable(tokens: readonly AccessToken[], now: number): string {
  if (tokens.length === 0) return 'no tokens\n';
  const rows = [
    ['NAME', 'SCOPES', 'ENVIRONMENTS', 'LIMITS', 'EXPIRES'],
    ...tokens.map((token) => [
      token.name,
      token.rights.join(',') || 'none',
      token.environments.join(',') || '-',
      Object.entries(token.limits)
        .map(([what, most]) => `${what}=${most}`)
        .join(',') || '-',
      expiryOf(token, now),
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

function expiryOf({ expiresAtMs }: AccessToken, now: number): string {
  if (expiresAtMs === undefined) return 'never';
  return `${new Date(expiresAtMs).toISOString()}${now >= expiresAtMs ? ' (expired)' : ''}`;
}
