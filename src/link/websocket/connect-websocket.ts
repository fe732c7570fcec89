import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { SecureContext } from 'node:tls';
import { WebSocket } from 'ws';
import { encodeUtf8, onAbort } from '../../base/index.ts';
import { limits } from '../../protocol/index.ts';
import type { Link } from '../../rpc/index.ts';
import { splitTokenUrl } from './token-url.ts';
import { WebSocketLink } from './websocket-link.ts';

export interface WebSocketConnectOptions {
  /** Presented as a bearer token. */
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connectTimeoutMs?: number;
  /** How often the server is pinged; the connection ends if it has not answered two intervals later. */
  readonly pingIntervalMs?: number;
  /** The certificates to trust for a `wss:` URL, read for each connection; by default those that Node trusts. */
  readonly roots?: () => SecureContext;
}

/** Connects to a `ws:` or `wss:` URL, or to a socket as `unix:/PATH`; the address may end with its token as `#token=TOKEN`. */
export function webSocket(
  address: string,
  options: WebSocketConnectOptions = {},
): (signal: AbortSignal) => Promise<Link> {
  const { url, token: tokenOfUrl } = splitTokenUrl(address);
  const { token = tokenOfUrl, headers, connectTimeoutMs = 10_000, roots } = options;
  const { pingIntervalMs = limits.clientPingIntervalMs } = options;
  return (signal) =>
    new Promise((resolve, reject) => {
      const path = unixPath(url);
      if (path === undefined && !(/^(?:ws|wss|http|https|ws\+unix):/i.test(url) && URL.canParse(url))) {
        throw new TypeError(`cannot connect to '${url}': expected ws://HOST:PORT, wss://HOST:PORT or unix:/PATH`);
      }
      const ws = new WebSocket(path === undefined ? url : 'ws://localhost/', {
        perMessageDeflate: false,
        maxPayload: LARGEST_ANSWER,
        handshakeTimeout: connectTimeoutMs,
        headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        ...(roots && /^(?:wss|https):/i.test(url) && { secureContext: roots() }),
        ...(path !== undefined && { createConnection: () => connect(path) }),
      });
      const stopping = onAbort(signal, () => ws.terminate()); // reported by `error`
      ws.once('upgrade', (response) => {
        response.socket.setNoDelay(true);
      });
      ws.once('open', () => {
        stopping[Symbol.dispose]();
        resolve(new FragmentingLink(ws, url, pingIntervalMs));
      });
      ws.once('unexpected-response', (_, response) => {
        void refusalOf(response).then((reason) => {
          ws.terminate();
          reject(new ConnectionRefused(`cannot connect to ${nameOf(url)}: ${reason}`, response.statusCode!));
        });
      });
      ws.on('error', (error) => {
        stopping[Symbol.dispose]();
        reject(signal.aborted ? signal.reason : unreachable(url, error));
      });
    });
}

/** The server answered the upgrade request with another status than 101. */
export class ConnectionRefused extends Error {
  override readonly name = 'ConnectionRefused';
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

function unreachable(url: string, error: NodeJS.ErrnoException): Error {
  return new Error(`cannot connect to ${nameOf(url)}: ${reasonOf(url, error)}`, { cause: error });
}

/** The path in `unix:/PATH`, which `unix:///PATH` spells as well. */
function unixPath(url: string): string | undefined {
  return /^unix:(?:\/\/)?(\/.+)$/.exec(url)?.[1];
}

/** Scheme, host and port; the rest of a URL may be secret. */
function nameOf(url: string): string {
  if (unixPath(url) !== undefined) return url;
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

/** How OpenSSL calls a certificate that is in order, and that nothing known here vouches for. */
const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

function reasonOf(url: string, { code, message }: NodeJS.ErrnoException): string {
  if (url.startsWith('wss:') && message.includes('wrong version number')) {
    return 'the server does not speak TLS; use ws:// on a network that you trust';
  }
  if (code === 'ECONNREFUSED') return 'no server listens there (ECONNREFUSED)';
  if (code === 'ENOENT') return 'there is no such socket (ENOENT)';
  if (code === 'EACCES') return 'this user may not use the socket (EACCES)';
  if (code === 'ENOTFOUND') return 'no host has this name (ENOTFOUND)';
  if (/^ws:/i.test(url) && message === 'socket hang up') {
    return 'the other end hung up (ECONNRESET); a server with TLS is reached as wss://';
  }
  if (UNKNOWN_AUTHORITY.has(code ?? '')) {
    return `${message}; to trust it, name its file, or that of its authority, in NODE_EXTRA_CA_CERTS`;
  }
  return message;
}

/** Describes an answer that refuses the upgrade, with its status and text. HTML is left out: an exec-server answers with one line of text. */
async function refusalOf(response: IncomingMessage): Promise<string> {
  const { statusCode = 0, headers } = response;
  const status = `the server refused the connection (HTTP ${statusCode})`;
  if (statusCode < 400 || statusCode === 404 || headers['content-type']?.startsWith('text/html')) {
    return `${status}: no exec-server answers at this address; use the one that it has printed`;
  }
  let body = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      body += chunk as string;
      if (body.length > LONGEST_REFUSAL) break;
    }
  } catch {
    // the connection ended in the middle of the body: only the status is shown
  }
  const text = body
    .slice(0, LONGEST_REFUSAL)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
  return text === '' ? status : `${status}: ${text}`;
}

const LONGEST_REFUSAL = 500;

/** Sends large messages in fragments: the reference drops a connection over a frame of more than 16 MiB. */
class FragmentingLink extends WebSocketLink {
  readonly #ws: WebSocket;

  constructor(ws: WebSocket, peer: string, pingIntervalMs: number) {
    super(ws, { peer, pingIntervalMs });
    this.#ws = ws;
  }

  override send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    // A character takes up to three bytes.
    if (message.length <= FRAGMENT_BYTES / 3) return super.send(message, onDelivered);
    const bytes = typeof message === 'string' ? encodeUtf8(message) : message;
    const last = Math.floor((bytes.length - 1) / FRAGMENT_BYTES) * FRAGMENT_BYTES;
    for (let at = 0; at < last; at += FRAGMENT_BYTES) {
      this.#ws.send(bytes.subarray(at, at + FRAGMENT_BYTES), { binary: false, fin: false });
    }
    return super.send(bytes.subarray(last), onDelivered);
  }
}

/** `fs/readFile` answers with up to 512 MiB in base64, in one frame. */
const LARGEST_ANSWER = 1024 * 1024 * 1024;
const FRAGMENT_BYTES = 8 * 1024 * 1024;
