import { parseListenUrl } from '../listen-url.ts';

export type OpsAddress =
  | { readonly type: 'http'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string };

/** Reads `http://IP:PORT` or `unix:/PATH`; throws an error that says what is wrong. */
export function parseOpsUrl(text: string): OpsAddress {
  if (text.startsWith('unix:')) return unixAddress(text);
  if (!text.startsWith('http://')) throw new Error(`expected http://IP:PORT or unix:/PATH, not ${text}`);
  try {
    const address = parseListenUrl(text.replace(/^http/, 'ws').replace(/\/$/, ''));
    if (address.type === 'websocket') return { type: 'http', host: address.host, port: address.port };
  } catch {
    // the error of a --listen URL would name another scheme
  }
  throw new Error(`expected http://IP:PORT, with an IPv6 address in brackets, not ${text}`);
}

function unixAddress(text: string): OpsAddress {
  const address = parseListenUrl(text);
  if (address.type !== 'unix') throw new Error(`expected unix:/PATH, not ${text}`);
  return address;
}
