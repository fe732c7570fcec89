import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as ws from 'ws';
import { FrameWriter } from './frame-writer.ts';

/** What a WebSocket client makes of the bytes a writer sent. */
function decoded(bytes: Buffer): string[] {
  const { Receiver } = ws as unknown as { Receiver: new (options: object) => Writable };
  const receiver = new Receiver({ isServer: false });
  const messages: string[] = [];
  receiver.on('message', (data: Buffer, isBinary: boolean) => messages.push(`${isBinary ? 'binary' : 'text'} ${data}`));
  receiver.write(bytes);
  return messages;
}

/** A socket that keeps what is written to it. */
function recorder(): { socket: Socket; bytes: () => Buffer } {
  const written: Buffer[] = [];
  const socket = {
    cork() {},
    uncork() {},
    write(bytes: Uint8Array) {
      written.push(Buffer.from(bytes));
      return true;
    },
  } as unknown as Socket;
  return { socket, bytes: () => Buffer.concat(written) };
}

describe('frames of a server', () => {
  it('are text frames that a client reads back, whatever their sizes and however they are written', () => {
    const size = fc.oneof(fc.nat(300), fc.constantFrom(125, 126, 8192, 8193, 65_535, 65_536, 200_000));
    const message = fc.tuple(size, fc.boolean());
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
        const { socket, bytes } = recorder();
        const writer = new FrameWriter(socket, () => {});
        const texts = messages.map(([length], at) => `${at}`.padEnd(length, 'ü'));

        for (const [at, text] of texts.entries()) writer.write(messages[at]![1] ? Buffer.from(text) : text);
        writer.flush();

        expect(decoded(bytes())).toEqual(texts.map((text) => `text ${text}`));
      }),
      { numRuns: 60 },
    );
  });

  it('of one turn leave in one write', async () => {
    const writes: number[] = [];
    const { socket } = recorder();
    const writer = new FrameWriter(
      Object.assign(socket, { write: (bytes: Uint8Array) => writes.push(bytes.length) > 0 }) as unknown as Socket,
      () => {},
    );

    writer.write('a');
    writer.write('bc');
    await new Promise((resolve) => setImmediate(resolve));

    expect(writes).toEqual([7]);
  });
});
