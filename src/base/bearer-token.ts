/** The token of an `Authorization: Bearer TOKEN` header, found in linear time; undefined without one. */
export function bearerToken(authorization: string): string | undefined {
  const text = authorization.trim();
  if (!/^bearer\s/i.test(text)) return undefined;
  return text.slice('bearer'.length).trimStart();
}
