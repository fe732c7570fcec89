import { parseListenUrl } from '../listen-url.ts';

export type OpsAddress =
  | { readonly type: 'http'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }
  | { readonly type: 'inherited'; readonly descriptor: number };

/** Reads `http://IP:PORT`, `unix:/PATH` or `fd:N`; throws an error that says what is wrong. */
export function parseOpsUrl(text: string): OpsAddress {
  if (/^(unix|fd):/.test(text)) return socketAddress(text);
  if (!text.startsWith('http://')) throw new Error(`expected http://IP:PORT or unix:/PATH, not ${text}`);
  try {
    const address = parseListenUrl(text.replace(/^http/, 'ws').replace(/\/$/, ''));
    if (address.type === 'websocket') return { type: 'http', host: address.host, port: address.port };
  } catch {
    // the error of a --listen URL would name another scheme
  }
  throw new Error(`expected http://IP:PORT, with an IPv6 address in brackets, not ${text}`);
}

function socketAddress(text: string): OpsAddress {
  const address = parseListenUrl(text);
  if (address.type === 'unix' || address.type === 'inherited') return address;
  throw new Error(`expected unix:/PATH, not ${text}`);
}
