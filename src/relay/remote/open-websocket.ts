import { isIP } from 'node:net';
import type { SecureContext } from 'node:tls';
import { WebSocket } from 'ws';
import { Deadline, onAbort } from '../../base/index.ts';
import type { Outgoing } from '../../host/http/index.ts';

export interface OpenWebSocketOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxPayload: number;
  readonly outgoing: Outgoing;
}

/** The rendezvous answered the upgrade request with an error status. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly status: number;

  constructor(status: number) {
    super(`rendezvous refused the websocket with status ${status}`);
    this.status = status;
  }
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Opens a websocket. `take` gets it before anything is read from it: messages may come along with the answer. The URL can be a secret,
 * so no error shows it.
 */
export async function openWebSocket<T>(
  url: string,
  options: OpenWebSocketOptions,
  take: (ws: WebSocket) => T,
  signal: AbortSignal,
): Promise<T> {
  const { outgoing } = options;
  const tls = url.startsWith('wss:') ? { secureContext: outgoing.roots.context } : {};
  const tunnel = await tunnelFor(new URL(url), outgoing, tls, signal);
  return await new Promise((resolve, reject) => {
    const ws = new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: options.maxPayload,
      headers: { ...options.headers },
      ...tls,
      ...tunnel,
    });
    const stopping = onAbort(signal, () => ws.terminate()); // reported by `error`
    const settled = (): void => stopping[Symbol.dispose]();
    ws.once('upgrade', (response) => {
      response.socket.setNoDelay(true);
    });
    ws.once('unexpected-response', (request, response) => {
      settled();
      request.destroy();
      reject(new UpgradeRefused(response.statusCode ?? 0));
    });
    ws.once('open', () => {
      settled();
      resolve(take(ws));
    });
    ws.on('error', (error) => {
      settled();
      reject(signal.aborted ? signal.reason : new Error(`cannot connect to the rendezvous: ${error.message}`));
    });
  });
}

/** Opens a tunnel through the proxy that the environment names, as an option of a websocket; no option without a proxy. */
async function tunnelFor(
  address: URL,
  outgoing: Outgoing,
  tls: { readonly secureContext?: SecureContext },
  signal: AbortSignal,
) {
  const proxy = outgoing.proxyFor(address);
  if (!proxy) return {};
  using deadline = new Deadline(CONNECT_TIMEOUT_MS, signal);
  try {
    const socket = await outgoing.tunnelTo(address, proxy, deadline.signal);
    const { connect } = process.getBuiltinModule('node:tls');
    const host = address.hostname;
    const name = isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0 ? { servername: host } : { host };
    return { createConnection: () => (tls.secureContext ? connect({ socket, ...name, ...tls }) : socket) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new Error(`cannot connect to the rendezvous through the proxy ${proxy.host}: ${(error as Error).message}`);
  }
}
