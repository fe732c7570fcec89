import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { limits } from '../../protocol/index.ts';
import type { Gate, WantedConnection } from './gate.ts';
import { connectTo, pipeBothWays } from './outbound.ts';

/** How long a program may take for the handshake and the address. */
const HANDSHAKE_MS = 10_000;

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const CONNECT = 1;

const replies = {
  succeeded: 0,
  failed: 1,
  notAllowed: 2,
  networkUnreachable: 3,
  hostUnreachable: 4,
  refused: 5,
  commandNotSupported: 7,
  addressNotSupported: 8,
} as const;

/** A SOCKS5 server for connections that the gate admits. Resolves names itself; UDP is not supported. */
export function createSocksProxy(gate: Gate): Server {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    serve(socket, gate).catch(() => socket.destroy()); // the handshake is invalid, or the client has closed the connection
  });
  server.maxConnections = limits.proxyConnections;
  return server;
}

async function serve(socket: Socket, gate: Gate): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  socket.setTimeout(HANDSHAKE_MS, () => socket.destroy());
  const take = (bytes: number) => takeBytes(socket, bytes, gone.signal);

  const [version, methods] = await take(2);
  if (version !== VERSION) return void socket.destroy();
  const offered = await take(methods!);
  if (!offered.includes(NO_AUTHENTICATION)) return void socket.end(Buffer.of(VERSION, 0xff));
  socket.write(Buffer.of(VERSION, NO_AUTHENTICATION));

  const [, command, , type] = await take(4);
  const host = await readHost(type!, take);
  if (host === undefined) return void socket.end(reply(replies.addressNotSupported));
  const port = (await take(2)).readUInt16BE();
  if (command !== CONNECT) return void socket.end(reply(replies.commandNotSupported));
  socket.setTimeout(0);

  const client = `${socket.remoteAddress}:${socket.remotePort}`;
  const wanted: WantedConnection = { protocol: 'socks5_tcp', host, port, client };
  const admission = await gate.admit(wanted, gone.signal);
  if (!admission.allowed) return void socket.end(reply(replies.notAllowed));
  let upstream: Socket;
  try {
    upstream = await connectTo(admission.addresses, port, gone.signal);
  } catch (error) {
    return void socket.end(reply(failureReply(error)));
  }
  socket.write(reply(replies.succeeded));
  pipeBothWays(socket, upstream);
}

type Take = (bytes: number) => Promise<Buffer>;

async function readHost(type: number, take: Take): Promise<string | undefined> {
  if (type === 1) return (await take(4)).join('.');
  if (type === 3) return (await take((await take(1))[0]!)).toString('latin1');
  if (type !== 4) return undefined;
  return (await take(16)).toString('hex').replace(/(?<=.)(?=(?:.{4})+$)/g, ':');
}

/** The next bytes of the handshake; later bytes stay in the socket. */
async function takeBytes(socket: Socket, bytes: number, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    if (bytes === 0) return Buffer.alloc(0);
    const taken = socket.read(bytes) as Buffer | null;
    if (taken?.length === bytes) return taken;
    if (socket.readableEnded || taken) throw new Error('the handshake ended early');
    await once(socket, 'readable', { signal });
  }
}

/** The address in a reply is zero, because programs read only the code. */
function reply(code: number): Buffer {
  return Buffer.of(VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0);
}

function failureReply(error: unknown): number {
  const { code, name } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return replies.refused;
  if (code === 'ENETUNREACH') return replies.networkUnreachable;
  return code === 'EHOSTUNREACH' || code === 'ETIMEDOUT' || name === 'AbortError'
    ? replies.hostUnreachable
    : replies.failed;
}
