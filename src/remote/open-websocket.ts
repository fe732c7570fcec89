import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { trustedRoots } from '../os/index.ts';

export interface OpenWebSocketOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxPayload: number;
}

/** The other side answered, but not with a websocket. */
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
 * Opens a websocket and has it taken, with the socket below it, before anything is read from it: messages may come along
 * with the answer. The address can be a secret, so no error shows it.
 */
export function openWebSocket<T>(
  url: string,
  options: OpenWebSocketOptions,
  take: (ws: WebSocket, socket: Socket) => T,
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(url, {
      perMessageDeflate: false,
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: options.maxPayload,
      headers: { ...options.headers },
      ...(url.startsWith('wss:') && { secureContext: trustedRoots() }),
    });
    const stop = (): void => ws.terminate();
    const settled = (): void => signal.removeEventListener('abort', stop);
    signal.addEventListener('abort', stop);
    let socket: Socket;
    ws.once('upgrade', (response) => {
      socket = response.socket;
      socket.setNoDelay(true);
    });
    ws.once('unexpected-response', (request, response) => {
      settled();
      request.destroy();
      reject(new UpgradeRefused(response.statusCode ?? 0));
    });
    ws.once('open', () => {
      settled();
      resolve(take(ws, socket));
    });
    ws.on('error', (error) => {
      settled();
      reject(signal.aborted ? signal.reason : new Error(`cannot connect to the rendezvous: ${error.message}`));
    });
    if (signal.aborted) stop();
  });
}
