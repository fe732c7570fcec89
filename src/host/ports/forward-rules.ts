import { canonicalHost } from './host-text.ts';

const UNIX = 'unix:';

/** What connections may lead to besides loopback: the entries of the setting `allow_forward`. */
export class ForwardRules {
  readonly #entries: ReadonlySet<string>;

  constructor(entries: readonly string[]) {
    this.#entries = new Set(entries.flatMap((entry) => canonicalEntry(entry) ?? []));
  }

  listsHost(host: string, port: number): boolean {
    return this.#entries.has(hostEntry(host, port));
  }

  listsPath(path: string): boolean {
    return this.#entries.has(`${UNIX}${path}`);
  }
}

/** Whether a text is a `HOST:PORT`, `[ADDRESS]:PORT` or `unix:/PATH`. */
export const isForwardEntry = (text: string): boolean => canonicalEntry(text) !== undefined;

function canonicalEntry(text: string): string | undefined {
  if (text.startsWith(UNIX)) return /^unix:\/[^\0]*[^/\0]$/.test(text) ? text : undefined;
  const [, host = '', digits = ''] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(text) ?? [];
  const canonical = canonicalHost(host);
  const port = Number(digits);
  return canonical === undefined || port < 1 || port > 65_535 ? undefined : hostEntry(canonical, port);
}

const hostEntry = (host: string, port: number): string => `${host} ${port}`;
