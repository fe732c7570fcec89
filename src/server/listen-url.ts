import { isIP } from 'node:net';

/** The default of `--listen`. */
export const DEFAULT_LISTEN_URL = 'ws://127.0.0.1:0';

export type ListenAddress =
  | { readonly type: 'stdio' }
  | { readonly type: 'websocket'; readonly host: string; readonly port: number };

/** A `--listen` value that names no address. */
export class ExecServerListenUrlParseError extends Error {
  override readonly name = 'ExecServerListenUrlParseError';
}

export function parseListenUrl(text: string): ListenAddress {
  if (text === 'stdio' || text === 'stdio://') return { type: 'stdio' };
  if (!text.startsWith('ws://')) {
    throw new ExecServerListenUrlParseError(
      `unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\` or \`stdio\``,
    );
  }
  const [, host, port] = /^ws:\/\/(\[[^\]]+\]|[^:/]+):(\d{1,5})$/.exec(text) ?? [];
  const address = host?.replace(/^\[|\]$/g, '') ?? '';
  const family = host?.startsWith('[') ? 6 : 4;
  if (isIP(address) !== family || Number(port) > 65_535) {
    throw new ExecServerListenUrlParseError(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``);
  }
  return { type: 'websocket', host: address, port: Number(port) };
}

export function isLoopback(host: string): boolean {
  return host === '::1' || /^127\./.test(host) || /^::ffff:127\./i.test(host);
}
