import { type HttpMessage, isWeb } from './http-message.ts';

/** Enough for every honest chain; a loop ends here. */
export const MOST_REDIRECTS = 10;

/** What to ask for next, or nothing when the answer is final. */
export function redirected(
  message: HttpMessage,
  status: number,
  location: string | undefined,
): HttpMessage | undefined {
  if (!redirects.has(status) || location === undefined) return undefined;
  const url = target(location, message.url);
  if (!url) return undefined;
  if (url.hash === '') url.hash = message.url.hash;
  const withoutBody = status <= 303;
  const dropped = new Set([
    'referer',
    ...(withoutBody ? aboutTheBody : []),
    ...(sameOrigin(url, message.url) ? [] : secrets),
  ]);
  const headers = message.headers.filter((_, at, all) => !dropped.has(all[at - (at % 2)]!.toLowerCase()));
  return {
    method: withoutBody && message.method !== 'HEAD' ? 'GET' : message.method,
    url,
    headers: [...headers, ...referer(message.url, url)],
    body: withoutBody ? undefined : message.body,
  };
}

const redirects = new Set([301, 302, 303, 307, 308]);
const aboutTheBody = ['content-type', 'content-encoding', 'content-language', 'content-location'];
const secrets = ['authorization', 'cookie', 'cookie2', 'proxy-authorization', 'www-authenticate', 'host'];

function target(location: string, base: URL): URL | undefined {
  try {
    const url = new URL(location, base);
    return isWeb(url) ? url : undefined;
  } catch {
    return undefined; // a location that names nothing: the answer itself is the result
  }
}

function sameOrigin(one: URL, other: URL): boolean {
  return one.origin === other.origin;
}

/** Pages reached over TLS are not named to servers without it. */
function referer(from: URL, to: URL): string[] {
  if (from.protocol === 'https:' && to.protocol === 'http:') return [];
  const page = new URL(from);
  page.hash = '';
  return ['referer', page.href];
}
