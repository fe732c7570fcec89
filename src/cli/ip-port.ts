import { isIP } from 'node:net';

/** Parses `IP:PORT` or `[IPv6]:PORT`; undefined for any other text. */
export function parseIpPort(text: string): { host: string; port: number } | undefined {
  const [, bracketed = '', plain = '', digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if ((isIP(bracketed) !== 6 && isIP(plain) !== 4) || port > 65_535) return undefined;
  return { host: bracketed || plain, port };
}
