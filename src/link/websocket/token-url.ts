/** Splits a URL from the token in its fragment, so that the fragment is never shown or logged. */
export function splitTokenUrl(text: string): { readonly url: string; readonly token?: string } {
  const at = text.indexOf('#');
  if (at < 0) return { url: text };
  const token = /^token=([\x21-\x7e]+)$/.exec(text.slice(at + 1))?.[1];
  const url = text.slice(0, at);
  return token === undefined ? { url } : { url, token };
}
