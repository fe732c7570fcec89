import { type HttpMessage, isWeb } from './http-message.ts';

/** More than any chain of redirects needs; a loop ends here. */
export const MOST_REDIRECTS = 10;

/** The next request, or undefined if the answer is final. Throws for a target that is not HTTP. */
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
    ...(becomesGet ? bodyHeaders : []),
    ...(url.origin === message.url.origin ? [] : [...originHeaders, ...message.environmentHeaders]),
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
const bodyHeaders = ['content-type', 'content-encoding', 'content-language', 'content-location'];
/** Headers that another origin does not get. */
const originHeaders = ['authorization', 'cookie', 'cookie2', 'proxy-authorization', 'www-authenticate', 'host'];

function target(location: string, base: URL): URL | undefined {
  let url: URL;
  try {
    url = new URL(location, base);
  } catch {
    return undefined; // an invalid location: the answer itself is the result
  }
  if (isWeb(url)) return withoutCredentials(url);
  throw new Error(`redirect target uses unsupported URL scheme: ${url.protocol.slice(0, -1)}`);
}

/** Credentials in a URL would reach the next server as part of the referer. */
function withoutCredentials(url: URL): URL {
  url.username = '';
  url.password = '';
  return url;
}

/** Another origin gets only the origin as the referer; a server without TLS gets none from a server with TLS. */
function referer(from: URL, to: URL): string[] {
  if (from.protocol === 'https:' && to.protocol === 'http:') return [];
  const page = to.origin === from.origin ? new URL(from) : new URL('/', from);
  page.hash = '';
  return ['referer', page.href];
}
