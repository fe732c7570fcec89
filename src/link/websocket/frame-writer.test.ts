import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameReceiver } from '../../../test/support/frame-receiver.ts';
import { FrameWriter, type SendNow } from './frame-writer.ts';

/** The messages that a WebSocket client reads. */
function decoded(bytes: Buffer): string[] {
  const receiver = frameReceiver({ isServer: false });
  const messages: string[] = [];
  receiver.on('message', (data: Buffer, isBinary: boolean) => messages.push(`${isBinary ? 'binary' : 'text'} ${data}`));
  receiver.write(bytes);
  return messages;
}

/** A socket that records what is written, and a kernel that takes these amounts at once, one after the other. */
function recorder(amounts: readonly number[] = []) {
  const written: Buffer[] = [];
  const write = (bytes: Uint8Array): boolean => written.push(Buffer.from(bytes)) > 0;
  let sends = 0;
  const sendNow: SendNow = (...parts) => {
    const bytes = Buffer.concat(parts.filter((part) => part !== undefined));
    const sent = Math.min(amounts[sends++ % amounts.length] ?? 0, bytes.length);
    if (sent > 0) write(bytes.subarray(0, sent));
    return sent;
  };
  const socket = { cork() {}, uncork() {}, write } as unknown as Socket;
  return { socket, sendNow, written };
}

describe('frames of a server', () => {
  it('are text frames that a client reads back, whatever their sizes and however much the kernel takes at once', () => {
    const size = fc.oneof(fc.nat(300), fc.constantFrom(125, 126, 8192, 8193, 65_535, 65_536, 200_000));
    const message = fc.tuple(size, fc.boolean());
    const amounts = fc.array(fc.oneof(fc.nat(12), fc.nat(300_000)), { maxLength: 4 });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), amounts, (messages, atOnce) => {
        const { socket, sendNow, written } = recorder(atOnce);
        const writer = new FrameWriter(socket, sendNow, () => {});
        const texts = messages.map(([length], at) => `${at}`.padEnd(length, 'ü'));

        for (const [at, text] of texts.entries()) writer.write(messages[at]![1] ? Buffer.from(text) : text);
        writer.flush();

        expect(decoded(Buffer.concat(written))).toEqual(texts.map((text) => `text ${text}`));
      }),
      { numRuns: 200 },
    );
  });

  it('are held until they are flushed, and later ones are not', async () => {
    const { socket, sendNow, written } = recorder([Number.POSITIVE_INFINITY]);
    const writer = new FrameWriter(socket, sendNow, () => {});
    writer.hold();
    writer.write('a');
    writer.write('bc');
    expect(written).toEqual([]);
    writer.flush();
    expect(written.map(decoded)).toEqual([['text a', 'text bc']]);

    writer.write('later');
    await new Promise((resolve) => setImmediate(resolve));
    expect(decoded(written[1]!)).toEqual(['text later']);
  });

  it.each([
    ['the kernel takes', Number.POSITIVE_INFINITY],
    ['the socket keeps', 0],
  ])('of one turn leave in one write that %s', async (_who, atOnce) => {
    const { socket, sendNow, written } = recorder([atOnce]);
    const writer = new FrameWriter(socket, sendNow, () => {});

    writer.write('a');
    writer.write('bc');
    await new Promise((resolve) => setImmediate(resolve));

    expect(written.map(({ length }) => length)).toEqual([7]);
  });
});
