/** The token of an `Authorization: Bearer TOKEN` header, in time linear in its length; nothing if it holds none. */
export function bearerToken(authorization: string): string | undefined {
  const text = authorization.trim();
  if (!/^bearer\s/i.test(text)) return undefined;
  return text.slice('bearer'.length).trimStart();
}
