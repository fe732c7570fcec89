import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { encodeFrame, FrameReader, frameStart, masked, opcodes } from './frames.ts';

const receiveBufferBytes = 256 * 1024;
const connectTimeoutMs = 10_000;

export interface RawWebSocketHandlers {
  /** The message may point into the receive buffer: it is valid during the call only. */
  message(payload: Buffer): void;
  closed(error: Error): void;
}

/** When the kernel tells the server that its bytes have arrived. */
export type Acknowledgement = 'delayed' | 'at once';

/**
 * A WebSocket client on a plain TCP socket. The benchmark shares the machine with the server it judges, so this one
 * reads into one fixed buffer, does not copy what arrives whole, does not check UTF-8 and masks what is large only once.
 */
export class RawWebSocket {
  readonly #socket: Socket;
  readonly #mask = randomBytes(4);
  readonly #masked = new WeakMap<Buffer, Buffer>();

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static open(url: string, handlers: RawWebSocketHandlers, acknowledgement: Acknowledgement): Promise<RawWebSocket> {
    const { hostname, host, port, pathname, search } = new URL(url);
    const upgrade = [
      `GET ${pathname}${search} HTTP/1.1`,
      `Host: ${host}`,
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      'Sec-WebSocket-Version: 13',
    ];
    return new Promise((resolve, reject) => {
      const buffer = Buffer.allocUnsafeSlow(receiveBufferBytes);
      const reader = new FrameReader({
        message: handlers.message,
        control: (opcode, payload) => self.#answer(opcode, payload),
      });
      let answer: Buffer | undefined = Buffer.alloc(0);

      /** The HTTP answer ends at the first empty line; whatever follows is frames already. */
      const handshake = (chunk: Buffer): void => {
        answer = Buffer.concat([answer!, chunk]);
        const end = answer.indexOf('\r\n\r\n');
        if (end < 0) return;
        const [status = ''] = answer.toString('latin1', 0, end).split('\r\n');
        const frames = answer.subarray(end + 4);
        answer = undefined;
        socket.setTimeout(0);
        if (!status.startsWith('HTTP/1.1 101')) {
          socket.destroy(new Error(`upgrade refused: ${status}`));
          return;
        }
        resolve(self);
        reader.feed(frames);
      };

      const socket = connect({
        host: hostname,
        port: Number(port || 80),
        noDelay: true,
        onread: {
          buffer,
          callback: (length) => {
            const chunk = buffer.subarray(0, length);
            try {
              if (answer) handshake(chunk);
              else reader.feed(chunk);
              if (acknowledgement === 'at once') self.#acknowledge();
            } catch (error) {
              socket.destroy(error as Error); // nonsense from a server fails its sample, not the whole run
            }
            return true;
          },
        },
      });
      const self = new RawWebSocket(socket);
      socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error(`no answer from ${url}`)));
      socket.once('connect', () => socket.write(`${upgrade.join('\r\n')}\r\n\r\n`));
      let reason = new Error('the server closed the connection');
      socket.on('error', (error) => {
        reason = error;
      });
      socket.once('close', () => {
        reject(reason);
        handlers.closed(reason);
      });
    });
  }

  send(payload: string | Buffer): void {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    this.#socket.write(encodeFrame(bytes, { mask: this.#mask }));
  }

  /** One message of three parts, of which the middle one is large and the same each time: it is masked once. */
  sendAround(head: string, body: Buffer, tail: string): void {
    const start = Buffer.from(' '.repeat(-Buffer.byteLength(head) & 3) + head); // JSON may be indented
    const middle = this.#masked.get(body) ?? masked(body, this.#mask);
    this.#masked.set(body, middle);
    const end = Buffer.from(tail);
    const header = frameStart(start.length + body.length + end.length, { mask: this.#mask }, 0);
    this.#socket.cork();
    for (const part of [header, masked(start, this.#mask), middle, masked(end, this.#mask)]) this.#socket.write(part);
    this.#socket.uncork();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  [Symbol.dispose](): void {
    this.#socket.end(encodeFrame(Buffer.alloc(0), { opcode: opcodes.close, mask: this.#mask }));
    this.#socket.setTimeout(50, () => this.#socket.destroy());
  }

  /** A segment of ours carries the acknowledgement that the kernel would hold back for up to 40 ms. */
  #acknowledge(): void {
    this.#socket.write(encodeFrame(Buffer.alloc(0), { opcode: opcodes.pong, mask: this.#mask }));
  }

  #answer(opcode: number, payload: Buffer): void {
    if (opcode === opcodes.ping) this.#socket.write(encodeFrame(payload, { opcode: opcodes.pong, mask: this.#mask }));
    if (opcode === opcodes.close) this.#socket.end();
  }
}
