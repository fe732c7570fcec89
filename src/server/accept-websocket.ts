import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { mask, release, sendNow } from '../host/os/index.ts';
import { type NativeBytes, WebSocketLink } from '../link/index.ts';
import { limits } from '../protocol/index.ts';
import type { Link } from '../rpc/index.ts';

export interface AcceptOptions {
  /** The name of the client in logs. */
  readonly peer: string;
  /** Whether messages may go past `ws` and Node's streams. */
  readonly fastPath: boolean;
  readonly onFault: (error: unknown) => void;
}

const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: limits.messageBytes,
  skipUTF8Validation: true, // the JSON parser does it and answers with an error; `ws` would close the connection
  handleProtocols: () => false,
});

const native: NativeBytes = { send: sendNow, unmask: mask, release }; // masking is XOR, which undoes itself

/** Completes the handshake of a valid request; `take` gets the link before anything is read from it. */
export function acceptWebSocket(
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  { peer, fastPath, onFault }: AcceptOptions,
  take: (link: Link) => void,
): void {
  sockets.handleUpgrade(request, socket, head, (ws) => {
    const { pingIntervalMs } = limits;
    take(
      new WebSocketLink(ws, {
        peer,
        rawSocket: socket,
        native: fastPath ? native : undefined,
        pingIntervalMs,
        onFault,
      }),
    );
  });
}
