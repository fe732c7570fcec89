import { createServer, type IncomingMessage, request, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connect as secure } from 'node:tls';
import { limits } from '../../protocol/index.ts';
import type { Admission, Gate, WantedConnection } from './gate.ts';
import { forwardedHeaders } from './hop-headers.ts';
import { isWeb } from './http-message.ts';
import { connectTo, pipeBothWays } from './outbound.ts';
import { proxyError, refusalBody, refusalMessage } from './refused-connection.ts';
import { connectToProxy, serverName, tunnelThrough } from './upstream-proxy.ts';

type Admitted = Admission & { allowed: true };

/** A server that forwards plain requests and opens tunnels, as far as the gate admits them. */
export function createHttpProxy(gate: Gate): Server {
  // An upload may take long; `headersTimeout` still limits the headers.
  const server = createServer({ requestTimeout: 0, requireHostHeader: false, noDelay: true });
  server.maxConnections = limits.proxyConnections;
  server.on('request', (incoming, outgoing) => {
    forward(incoming, outgoing, gate).catch(() => fail(outgoing)); // the command gets a 502 without a reason
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
  const wanted: WantedConnection = {
    protocol: 'http',
    host: url.hostname,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    method: incoming.method ?? '',
    upstream: url.protocol === 'https:' ? 'https' : 'http',
    client: clientOf(incoming.socket),
  };
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  const admission = await gate.admit(wanted, gone.signal);
  if (!admission.allowed) {
    const { host, refusal } = admission;
    const headers = { 'content-type': 'application/json', 'x-proxy-error': proxyError(refusal) };
    return answer(outgoing, 403, headers, refusalBody({ ...wanted, host }, refusal));
  }
  await exchange(incoming, outgoing, url, { admission, port: wanted.port, signal: gone.signal });
}

/** The target of a request: its absolute URL, or the host of its Host header. */
function targetOf({ url = '', headers }: IncomingMessage): URL | undefined {
  try {
    const target = url.startsWith('/') ? new URL(`http://${headers.host ?? ''}${url}`) : new URL(url);
    return isWeb(target) ? target : undefined;
  } catch {
    return undefined; // the request is answered with 400
  }
}

async function exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  url: URL,
  { admission, port, signal }: { admission: Admitted; port: number; signal: AbortSignal },
): Promise<void> {
  // An upstream proxy gets plain requests with the whole URL, and passes TLS on through a tunnel.
  const proxy = url.protocol === 'http:' ? admission.proxy : undefined;
  const socket = proxy ? await connectToProxy(proxy, signal) : await connectToHost(admission, port, signal);
  const headers = forwardedHeaders(incoming.rawHeaders, { host: url.host, framed: isFramed(incoming) });
  if (proxy?.authorization) headers.push('Proxy-Authorization', proxy.authorization);
  const call = request({
    createConnection: () => (url.protocol === 'https:' ? secure({ socket, ...serverName(admission.host) }) : socket),
    method: incoming.method,
    path: (proxy ? url.origin : '') + url.pathname + url.search,
    headers,
    setHost: false,
    signal,
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) =>
    call.once('response', resolve).on('error', reject),
  );
  incoming.pipe(call); // not awaited: a server may answer and close the connection before it has read everything
  const response = await answered;
  outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, forwardedHeaders(response.rawHeaders));
  await pipeline(response, outgoing);
}

/** A connection to the host, directly or through a tunnel of the upstream proxy. */
function connectToHost({ host, addresses, proxy }: Admitted, port: number, signal: AbortSignal): Promise<Socket> {
  return proxy ? tunnelThrough(proxy, { host, port }, signal) : connectTo(addresses, port, signal);
}

/** Whether the headers or the method tell where the request ends; Node announces a chunked body for all other methods. */
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
  const wanted: WantedConnection = {
    protocol: 'https_connect',
    host,
    port,
    method: 'CONNECT',
    client: clientOf(socket),
    upstream: 'https',
  };
  const admission = await gate.admit(wanted, gone.signal);
  if (!admission.allowed) {
    const { refusal } = admission;
    return answerTunnel(socket, 403, { 'x-proxy-error': proxyError(refusal) }, refusalMessage(refusal));
  }
  const upstream = await connectToHost(admission, port, gone.signal);
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  if (head.length > 0) upstream.write(head);
  pipeBothWays(socket, upstream);
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
