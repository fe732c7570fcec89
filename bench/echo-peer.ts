import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { encodeFrame, FrameReader, opcodes } from './frames.ts';

/** RFC 6455, section 1.3: appended to the client's key before hashing. */
const acceptGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const batchBytes = 2 ** 20;

export interface FloodParams {
  processId: string;
  chunkBytes: number;
  totalBytes: number;
}

interface Request {
  id?: number;
  method: string;
  params: FloodParams;
}

/**
 * The cheapest possible peer: answers every request with a constant and sends prepared output on `bench/flood`. What
 * the client reaches against it is the most it can show of any server.
 */
export async function serveEchoPeer(): Promise<void> {
  const server = createServer({ noDelay: true }, serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  console.log(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function serve(socket: Socket): void {
  const reader = new FrameReader({
    message: (payload) => answer(socket, JSON.parse(payload.toString('latin1')) as Request),
    control: (opcode) => {
      if (opcode === opcodes.close) socket.end();
    },
  });
  socket.on('error', () => {}); // the benchmark ends connections as it likes
  socket.once('data', (upgrade) => {
    // A client waits for the answer to its upgrade request, so that request arrives alone and, being short, whole.
    const key = /^sec-websocket-key: *(\S+)/im.exec(upgrade.toString('latin1'))?.[1] ?? '';
    const accept = createHash('sha1').update(`${key}${acceptGuid}`).digest('base64');
    const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
    socket.write(`${head.join('\r\n')}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on('data', (chunk) => {
      socket.cork();
      reader.feed(chunk);
      socket.uncork();
    });
  });
}

function answer(socket: Socket, { id, method, params }: Request): void {
  if (id === undefined) return;
  socket.write(encodeFrame(Buffer.from(`{"id":${id},"result":{"status":"ready"}}`)));
  if (method === 'bench/flood') void flood(socket, params);
}

async function flood(socket: Socket, { processId, chunkBytes, totalBytes }: FloodParams): Promise<void> {
  const chunks = Math.ceil(totalBytes / chunkBytes);
  const chunk = Buffer.alloc(chunkBytes, 'a').toString('base64');
  const output = notification('process/output', { processId, seq: 1, stream: 'stdout', chunk });
  const perBatch = Math.max(1, Math.floor(batchBytes / output.length));
  const batch = Buffer.concat(Array.from({ length: perBatch }, () => output));
  for (let left = chunks; left > 0; left -= perBatch) {
    const whole = socket.write(batch.subarray(0, Math.min(left, perBatch) * output.length));
    if (!whole) await once(socket, 'drain');
  }
  socket.write(notification('process/exited', { processId, seq: 2, exitCode: 0 }));
  socket.write(notification('process/closed', { processId, seq: 3 }));
}

function notification(method: string, params: object): Buffer {
  return encodeFrame(Buffer.from(JSON.stringify({ method, params })));
}
