import { normalizeHost } from './host-name.ts';

/** Host patterns: a name; `*.d` for all names below d; `**.d` for d and all names below d; `*` for all names. */
export class DomainPatterns {
  readonly #exact = new Set<string>();
  readonly #wild: RegExp[] = [];

  constructor(patterns: Iterable<string>) {
    for (const text of patterns) {
      const pattern = normalizePattern(text);
      if (/[*?]/.test(pattern)) this.#wild.push(expression(pattern));
      else this.#exact.add(pattern);
    }
  }

  /** Whether the list names the host without a wildcard. */
  lists(host: string): boolean {
    return this.#exact.has(host);
  }

  match(host: string): boolean {
    return this.#exact.has(host) || this.#wild.some((pattern) => pattern.test(host));
  }
}

/** Whether a pattern consists of wildcards and dots alone. */
export function matchesEverything(pattern: string): boolean {
  return /^[*?.]+$/.test(pattern.trim());
}

function normalizePattern(text: string): string {
  if (text.trim() === '') throw new Error('domain pattern is empty');
  const pattern = normalizeHost(text);
  if (pattern === undefined) throw new Error(`invalid domain pattern: ${text}`);
  return pattern;
}

function expression(pattern: string): RegExp {
  const [, prefix, rest] = /^(\*\*\.|\*\.)?(.*)$/s.exec(pattern)!;
  const below = { '*.': '.+\\.', '**.': '(?:.+\\.)?' }[prefix ?? ''] ?? '';
  return new RegExp(`^${below}${rest!.replace(/[.*?\\+^$|()[\]{}]/g, wildcard)}$`);
}

function wildcard(character: string): string {
  if (character === '*') return '.*';
  return character === '?' ? '.' : `\\${character}`;
}
