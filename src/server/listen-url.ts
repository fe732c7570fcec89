import { isIP } from 'node:net';
import { LONGEST_PATH_BYTES } from '../host/http/index.ts';

/** The default of `--listen`. */
export const DEFAULT_LISTEN_URL = 'ws://127.0.0.1:0';

export type ListenAddress =
  | { readonly type: 'stdio' }
  | { readonly type: 'websocket'; readonly secure: boolean; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }
  /** A listening socket that the parent of this process has opened, of TCP or of the file system. */
  | { readonly type: 'inherited'; readonly descriptor: number };

/** A `--listen` value that names no address. */
export class ExecServerListenUrlParseError extends Error {
  override readonly name = 'ExecServerListenUrlParseError';
}

export function parseListenUrl(text: string): ListenAddress {
  if (text === 'stdio' || text === 'stdio://') return { type: 'stdio' };
  if (text.startsWith('unix:')) return { type: 'unix', path: socketPath(text) };
  if (/^fd:\d{1,6}$/.test(text)) return { type: 'inherited', descriptor: Number(text.slice('fd:'.length)) };
  const [, scheme, host, port] = /^(wss?):\/\/(\[[^\]]+\]|[^:/]+):(\d{1,5})$/.exec(text) ?? [];
  if (!/^wss?:\/\//.test(text)) {
    throw new ExecServerListenUrlParseError(
      `unsupported --listen URL \`${text}\`; expected \`ws://IP:PORT\`, \`wss://IP:PORT\`, \`unix:/PATH\`, \`systemd:NAME\`, \`fd:N\` or \`stdio\``,
    );
  }
  const address = host?.replace(/^\[|\]$/g, '') ?? '';
  const family = host?.startsWith('[') ? 6 : 4;
  if (isIP(address) !== family || Number(port) > 65_535) {
    const expected = `${text.slice(0, text.indexOf(':'))}://IP:PORT`;
    throw new ExecServerListenUrlParseError(`invalid websocket --listen URL \`${text}\`; expected \`${expected}\``);
  }
  return { type: 'websocket', secure: scheme === 'wss', host: address, port: Number(port) };
}

function socketPath(text: string): string {
  const path = text.slice('unix:'.length);
  const fail = (reason: string): never => {
    throw new ExecServerListenUrlParseError(`invalid --listen URL \`${text}\`; ${reason}`);
  };
  if (!path.startsWith('/') || path.startsWith('//') || path.endsWith('/')) {
    fail('expected the absolute path of a socket, as in `unix:/run/user/1000/exec-server.sock`');
  }
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) {
    fail(`the path of a socket has at most ${LONGEST_PATH_BYTES} bytes; choose a shorter one`);
  }
  return path;
}

export function isLoopback(host: string): boolean {
  return host === '::1' || /^127\./.test(host) || /^::ffff:127\./i.test(host);
}
