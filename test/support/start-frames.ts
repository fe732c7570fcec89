import { pathToFileURL } from 'node:url';

/** The bytes of a client that starts a process without waiting for any answer. */
export class StartFrames {
  readonly #port: string;

  constructor(port: string) {
    this.#port = port;
  }

  starting(argv: readonly string[]): Buffer {
    const cwd = pathToFileURL('/').href;
    const messages = [
      { id: 1, method: 'initialize', params: { clientName: 'hasty' } },
      { method: 'initialized', params: {} },
      { id: 2, method: 'process/start', params: { processId: 'p', argv, cwd, env: {}, tty: false, pipeStdin: false } },
    ];
    return Buffer.concat([this.#upgrade(), ...messages.map((message) => frame(JSON.stringify(message)))]);
  }

  #upgrade(): Buffer {
    const head = [
      'GET / HTTP/1.1',
      `Host: 127.0.0.1:${this.#port}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n`);
  }
}

/** A text frame, masked with zeros. */
function frame(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 0xff, 0, 0, 0, 0]), body]);
}
