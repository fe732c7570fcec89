import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { mask, release, sendNow } from '../host/os/index.ts';
import { WebSocketLink } from '../link/index.ts';
import { limits } from '../protocol/index.ts';
import type { Link } from '../rpc/index.ts';

const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: limits.messageBytes,
  skipUTF8Validation: true, // the parser does it, and answers instead of hanging up
  handleProtocols: () => false,
});

/** Completes the handshake of a request that was found in order; the link is handed over before anything is read. */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  onFault: (error: unknown) => void,
  take: (link: Link) => void,
): void {
  sockets.handleUpgrade(request, socket, head, (ws) => {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    const below = { socket, sendNow, unmask: mask, release }; // masking twice is none
    take(new WebSocketLink(ws, { peer, below, pingIntervalMs: limits.pingIntervalMs, onFault }));
  });
}
