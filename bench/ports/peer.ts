import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { WebSocketServer } from 'ws';

const PIECE = Buffer.alloc(64 * 1024, 'x0123456789\n');

/** The programs at the other ends, in a process of their own: prints the ports of a sender, a counter and a bare WebSocket. */
export async function servePeers(bytes: number): Promise<void> {
  const sender = createServer((socket) => send(socket, bytes));
  const counter = createServer({ allowHalfOpen: true }, count);
  const http = createHttpServer();
  new WebSocketServer({ server: http, perMessageDeflate: false }).on('connection', (socket) => {
    let left = bytes;
    const next = (): void => {
      if (left <= 0) {
        socket.close();
        return;
      }
      left -= PIECE.length;
      socket.send(PIECE, next); // called when the kernel has it
    };
    next();
  });
  const ports = await Promise.all([sender, counter, http].map(listen));
  console.log(ports.join(' '));
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function send(socket: Socket, bytes: number): void {
  let left = bytes;
  const next = (): void => {
    while (left > 0) {
      left -= PIECE.length;
      if (!socket.write(PIECE)) return void socket.once('drain', next);
    }
    socket.end();
  };
  next();
}

/** Answers with the number of bytes when the other end has sent all. */
function count(socket: Socket): void {
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
  });
  socket.on('end', () => socket.end(String(bytes)));
}
