import { type HttpMessage, isWeb } from './http-message.ts';

/** Enough for every honest chain; a loop ends here. */
export const MOST_REDIRECTS = 10;

/** What to ask for next, or nothing when the answer is final. Throws when the target is not for us to follow. */
export function redirected(
  message: HttpMessage,
  status: number,
  location: string | undefined,
): HttpMessage | undefined {
  const url = redirects.has(status) && location !== undefined ? target(location, message.url) : undefined;
  if (!url) return undefined;
  const { method } = message;
  const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  const dropped = new Set([
    'referer',
    ...(becomesGet ? aboutTheBody : []),
    ...(url.origin === message.url.origin ? [] : [...secrets, ...message.environmentHeaders]),
  ]);
  const headers = message.headers.filter((_, at, all) => !dropped.has(all[at - (at % 2)]!.toLowerCase()));
  return {
    ...message,
    method: becomesGet ? 'GET' : method,
    url,
    headers: [...headers, ...referer(message.url, url)],
    body: becomesGet ? undefined : message.body,
  };
}

const redirects = new Set([301, 302, 303, 307, 308]);
const aboutTheBody = ['content-type', 'content-encoding', 'content-language', 'content-location'];
const secrets = ['authorization', 'cookie', 'cookie2', 'proxy-authorization', 'www-authenticate', 'host'];

function target(location: string, base: URL): URL | undefined {
  let url: URL;
  try {
    url = new URL(location, base);
  } catch {
    return undefined; // a location that names nothing: the answer itself is the result
  }
  if (isWeb(url)) return withoutCredentials(url);
  throw new Error(`redirect target uses unsupported URL scheme: ${url.protocol.slice(0, -1)}`);
}

/** They would go on to the next server as part of where one came from. */
function withoutCredentials(url: URL): URL {
  url.username = '';
  url.password = '';
  return url;
}

/** Other servers learn where one came from, not what was asked there; those without TLS learn nothing from those with. */
function referer(from: URL, to: URL): string[] {
  if (from.protocol === 'https:' && to.protocol === 'http:') return [];
  const page = to.origin === from.origin ? new URL(from) : new URL('/', from);
  page.hash = '';
  return ['referer', page.href];
}
