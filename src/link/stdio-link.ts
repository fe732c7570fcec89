import type { Readable, Writable } from 'node:stream';
import { Changes, concatBytes, deferred } from '../base/index.ts';
import { limits } from '../protocol/index.ts';
import type { Link, Receiver } from '../rpc/index.ts';

/** A link over a pair of byte streams, with one message per line. */
export class StdioLink implements Link {
  readonly source = 'JSON-RPC message from exec-server stdio';
  readonly peer = 'stdio';
  readonly noticesLoss = true;
  readonly #closed = deferred();
  readonly closed = this.#closed.promise;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #room = new Changes();
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  #isOver = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    output.on('drain', () => this.#room.notify());
    output.on('error', () => this.destroy()); // the reader is gone, so no answer can be delivered
  }

  open(receive: Receiver): void {
    void this.#read(receive)
      .catch(() => {}) // a broken pipe ends the connection like the end of the input
      .then(() => this.#end());
  }

  send(message: string | Uint8Array, onDelivered?: () => void): void | Promise<void> {
    if (!this.#output.writable) return;
    this.#output.cork();
    this.#output.write(message);
    const hasRoom = this.#output.write('\n', () => onDelivered?.());
    process.nextTick(() => this.#output.uncork());
    if (!hasRoom && !this.#isOver) return this.#room.next();
  }

  probe(): void {}

  close(): void {
    this.#output.end();
    this.#input.destroy();
    this.#end();
  }

  destroy(): void {
    this.close();
  }

  #end(): void {
    this.#isOver = true;
    this.#room.notify();
    this.#closed.resolve();
  }

  async #read(receive: Receiver): Promise<void> {
    for await (const chunk of this.#input as AsyncIterable<Uint8Array>) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        await this.#endLine(chunk.subarray(start, end), receive);
        start = end + 1;
      }
      if (start < chunk.length) this.#extendLine(chunk.subarray(start));
      if (this.#lineBytes > limits.messageBytes) return;
    }
    await this.#endLine(new Uint8Array(0), receive);
  }

  #extendLine(part: Uint8Array): void {
    this.#line.push(part);
    this.#lineBytes += part.length;
  }

  #endLine(part: Uint8Array, receive: Receiver): void | Promise<void> {
    this.#extendLine(part);
    const line = this.#line.length === 1 ? part : concatBytes(this.#line);
    this.#line = [];
    this.#lineBytes = 0;
    if (!isBlank(line)) return receive(line);
  }
}

const NEWLINE = 0x0a;

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
