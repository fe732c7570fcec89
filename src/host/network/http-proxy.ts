import { createServer, type IncomingMessage, request, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect as secure } from 'node:tls';
import { limits } from '../../protocol/index.ts';
import type { Attempt, Gate, Verdict } from './gate.ts';
import { forwardedHeaders } from './hop-headers.ts';
import { connectTo, join } from './outbound.ts';
import { proxyError, refusalBody, refusalMessage } from './refusal.ts';
import { connectToProxy, tunnelThrough } from './upstream-proxy.ts';

type Admitted = Verdict & { allowed: true };

/** A server that forwards plain requests and opens tunnels for those the gate admits. */
export function createHttpProxy(gate: Gate): Server {
  // A long upload is no attack: the clock of the server is for headers only.
  const server = createServer({ requestTimeout: 0, requireHostHeader: false, noDelay: true });
  server.maxConnections = limits.proxyConnections;
  server.on('request', (incoming, outgoing) => {
    forward(incoming, outgoing, gate).catch(() => fail(outgoing)); // a command sees only that it failed
  });
  server.on('connect', (incoming, duplex: Duplex, head: Buffer) => {
    const socket = duplex as Socket;
    tunnel(incoming, socket, head, gate).catch(() => answerTunnel(socket, 502, {}, 'upstream failure')); // likewise
  });
  return server;
}

async function forward(incoming: IncomingMessage, outgoing: ServerResponse, gate: Gate) {
  const url = targetOf(incoming);
  if (!url) return answer(outgoing, 400, PLAIN, 'missing host');
  const attempt: Attempt = {
    protocol: 'http',
    host: url.hostname,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    method: incoming.method ?? '',
    upstream: url.protocol === 'https:' ? 'https' : 'http',
    client: clientOf(incoming.socket),
  };
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const verdict = await gate.admit(attempt, gone.signal);
  if (!verdict.allowed) {
    const { host, refusal } = verdict;
    const headers = { 'content-type': 'application/json', 'x-proxy-error': proxyError(refusal) };
    return answer(outgoing, 403, headers, refusalBody({ ...attempt, host }, refusal));
  }
  await exchange(incoming, outgoing, url, { verdict, port: attempt.port, signal: gone.signal });
}

/** Where a request wants to go: its absolute URL, or what its Host header says. */
function targetOf({ url = '', headers }: IncomingMessage): URL | undefined {
  try {
    const target = url.startsWith('/') ? new URL(`http://${headers.host ?? ''}${url}`) : new URL(url);
    return target.protocol === 'http:' || target.protocol === 'https:' ? target : undefined;
  } catch {
    return undefined; // answered with what is missing
  }
}

async function exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  url: URL,
  { verdict, port, signal }: { verdict: Admitted; port: number; signal: AbortSignal },
): Promise<void> {
  // A proxy gets plain requests with the whole URL, and carries others unread.
  const proxy = url.protocol === 'http:' ? verdict.proxy : undefined;
  const socket = proxy ? await connectToProxy(proxy, signal) : await connectBeyond(verdict, port, signal);
  const headers = forwardedHeaders(incoming.rawHeaders, { host: url.host, framed: isFramed(incoming) });
  if (proxy?.authorization) headers.push('Proxy-Authorization', proxy.authorization);
  const call = request({
    createConnection: () => (url.protocol === 'https:' ? secure({ socket, ...serverName(verdict.host) }) : socket),
    method: incoming.method,
    path: (proxy ? url.origin : '') + url.pathname + url.search,
    headers,
    setHost: false,
    signal,
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    call.once('response', resolve).on('error', reject),
  );
  incoming.pipe(call); // a server may answer, and hang up, before it has read everything
  const response = await answered;
  outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, forwardedHeaders(response.rawHeaders));
  await pipeline(response, outgoing);
}

/** A connection whose other end is the host itself, directly or through a tunnel. */
function connectBeyond({ host, addresses, proxy }: Admitted, port: number, signal: AbortSignal): Promise<Socket> {
  return proxy ? tunnelThrough(proxy, { host, port }, signal) : connectTo(addresses, port, signal);
}

/** Certificates of servers without a name are checked against their address. */
function serverName(host: string): { servername?: string; host?: string } {
  return isIP(host) === 0 ? { servername: host } : { host };
}

/** Whether the end of the request is known without a length; Node announces a body for all other methods. */
function isFramed({ method, headers }: IncomingMessage): boolean {
  const announced = headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
  return announced || ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'].includes(method ?? '');
}

function fail(outgoing: ServerResponse): void {
  if (outgoing.headersSent) outgoing.destroy();
  else answer(outgoing, 502, PLAIN, 'upstream failure');
}

const PLAIN = { 'content-type': 'text/plain' };

function answer(outgoing: ServerResponse, status: number, headers: Readonly<Record<string, string>>, text: string) {
  outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
}

async function tunnel(incoming: IncomingMessage, socket: Socket, head: Buffer, gate: Gate) {
  const gone = new AbortController();
  socket.on('error', () => socket.destroy()).once('close', () => gone.abort());
  const { host, port } = authority(incoming.url ?? '');
  const attempt: Attempt = {
    protocol: 'https_connect',
    host,
    port,
    method: 'CONNECT',
    client: clientOf(socket),
    upstream: 'https',
  };
  const verdict = await gate.admit(attempt, gone.signal);
  if (!verdict.allowed) {
    const { refusal } = verdict;
    return answerTunnel(socket, 403, { 'x-proxy-error': proxyError(refusal) }, refusalMessage(refusal));
  }
  const upstream = await connectBeyond(verdict, port, gone.signal);
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  if (head.length > 0) upstream.write(head);
  join(socket, upstream);
}

function authority(text: string): { host: string; port: number } {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return { host: host ?? '', port: Number(port ?? 80) };
}

function answerTunnel(socket: Socket, status: number, headers: Readonly<Record<string, string>>, text: string): void {
  const all = { ...PLAIN, ...headers, connection: 'close', 'content-length': String(text.length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`);
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
