/** Hop-by-hop headers (RFC 9110, section 7.6.1), which a proxy does not forward. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);

/** The headers (name, value, name, value) of a message as a proxy forwards them. */
export function forwardedHeaders(raw: readonly string[], request?: { host: string; framed: boolean }): string[] {
  const named = raw.flatMap((name, at) => (at % 2 === 0 && name.toLowerCase() === 'connection' ? [raw[at + 1]!] : []));
  const dropped = new Set([
    ...hopByHop,
    ...named
      .join()
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  ]);
  // The request line decides where a request goes, not a Host header that may differ; Node frames answers anew.
  dropped.add(request ? 'host' : 'transfer-encoding');
  for (const framing of ['content-length', ...(request ? ['transfer-encoding'] : [])]) dropped.delete(framing);
  const kept = raw.filter((_, at) => !dropped.has(raw[at - (at % 2)]!.toLowerCase()));
  if (!request) return kept;
  return ['Host', request.host, ...kept, ...(request.framed ? [] : ['Content-Length', '0'])];
}
