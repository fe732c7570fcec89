/** Domains behind Cloudflare, which expects its cookies back. */
const hosts = ['chatgpt.com', 'chat.openai.com'];

/** The cookies that Cloudflare sets for its own services; none identifies a signed-in user. */
const names = new Set([
  '__cf_bm',
  '__cflb',
  '__cfruid',
  '__cfseq',
  '__cfwaitingroom',
  '_cfuvid',
  'cf_clearance',
  'cf_ob_info',
  'cf_use_ob',
]);
const CHALLENGE_PREFIX = 'cf_chl_';

const MOST_COOKIES = 256;
const LONGEST_COOKIE = 4096;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly domain: string;
  /** Whether subdomains get it too. */
  readonly wide: boolean;
  readonly path: string;
  /** By the monotonic clock; infinite for a session cookie, which lasts as long as this process. */
  readonly endsAt: number;
}

/** Keeps Cloudflare's service cookies of a few hosts in memory, and no other cookie of any host. */
export class ServiceCookies {
  /** The oldest first. */
  readonly #cookies = new Map<string, Cookie>();

  /** The value of the `Cookie` header for a request, if it gets one. */
  header(url: URL): string | undefined {
    if (!isServed(url)) return undefined;
    const now = performance.now();
    const sent = [...this.#cookies.values()].filter(
      (cookie) => cookie.endsAt > now && reaches(cookie, url.hostname) && isBelow(url.pathname, cookie.path),
    );
    if (sent.length === 0) return undefined;
    sent.sort((one, other) => other.path.length - one.path.length);
    return sent.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** Stores the cookies that the answer to a request sets. */
  take(url: URL, setCookies: readonly string[]): void {
    if (!isServed(url)) return;
    for (const text of setCookies) {
      const cookie = parseCookie(text, url);
      if (cookie) this.#keep(cookie);
    }
  }

  #keep(cookie: Cookie): void {
    const key = `${cookie.name};${cookie.domain};${cookie.path}`;
    this.#cookies.delete(key);
    if (cookie.endsAt <= performance.now()) return;
    this.#cookies.set(key, cookie);
    if (this.#cookies.size > MOST_COOKIES) this.#cookies.delete(this.#cookies.keys().next().value!);
  }
}

function isServed({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' && isServedHost(hostname);
}

function isServedHost(hostname: string): boolean {
  return hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`));
}

function reaches({ domain, wide }: Cookie, hostname: string): boolean {
  return hostname === domain || (wide && hostname.endsWith(`.${domain}`));
}

/** Whether a path is the given one or lies below it. */
function isBelow(path: string, above: string): boolean {
  return path === above || (path.startsWith(above) && (above.endsWith('/') || path[above.length] === '/'));
}

function parseCookie(text: string, url: URL): Cookie | undefined {
  if (text.length > LONGEST_COOKIE || !/^[\t\x20-\x7e]*$/.test(text)) return undefined;
  const [pair = '', ...rest] = text.split(';');
  const [name, value] = splitPair(pair);
  if (!names.has(name) && !name.startsWith(CHALLENGE_PREFIX)) return undefined;
  const attributes = new Map(rest.map(splitPair).map(([key, given]) => [key.toLowerCase(), given]));
  const domain = (attributes.get('domain') ?? '').replace(/^\./, '').toLowerCase();
  const cookie = {
    name,
    value,
    domain: domain || url.hostname,
    wide: domain !== '',
    path: pathOf(attributes.get('path'), url),
    endsAt: endOf(attributes),
  };
  return isServedHost(cookie.domain) && reaches(cookie, url.hostname) ? cookie : undefined;
}

function splitPair(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at < 0 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** The path attribute, or else the directory of the request. */
function pathOf(given: string | undefined, { pathname }: URL): string {
  if (given?.startsWith('/')) return given;
  return pathname.slice(0, pathname.lastIndexOf('/')) || '/';
}

function endOf(attributes: ReadonlyMap<string, string>): number {
  const maxAge = attributes.get('max-age') ?? '';
  if (/^-?\d+$/.test(maxAge)) return performance.now() + Number(maxAge) * 1000;
  const expires = Date.parse(attributes.get('expires') ?? '');
  return Number.isNaN(expires) ? Number.POSITIVE_INFINITY : performance.now() + (expires - Date.now());
}
