import { once } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameReceiver } from '../../../test/support/frame-receiver.ts';
import { socketPair } from '../../../test/support/socket-pair.ts';
import { byteHandling, unmask } from '../../../test/support/unmask.ts';
import { FrameGatherer, gatherFrames } from './frame-gatherer.ts';

interface Frame {
  readonly header: Buffer;
  /** As it is sent. */
  readonly payload: Buffer;
  /** As it was meant. */
  readonly content: Buffer;
}

/** A frame with so much payload, masked or not; what is in it does not matter. */
function frame(length: number, masked: boolean): Frame {
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = 0x81;
  header[1] = (masked ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (header.length === 4) header.writeUInt16BE(length, 2);
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2);
  const key = Buffer.from(masked ? [0x81, 0xff, 0xff, 0x00] : []);
  const content = Buffer.alloc(length, `${length} bytes, `);
  const payload = Buffer.from(content);
  if (masked) unmask(content, key, payload, 0, length);
  return { header: Buffer.concat([header, key]), payload, content };
}

/** What is in the frames, however they are masked. */
function contents(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const short = bytes[at + 1]! & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const length =
      short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short === 126 ? bytes.readUInt16BE(at + 2) : short;
    const keyBytes = bytes[at + 1]! & 0x80 ? 4 : 0;
    const start = at + 2 + lengthBytes + keyBytes;
    const content = Buffer.from(bytes.subarray(start, start + length));
    if (keyBytes > 0) unmask(content, bytes.subarray(start - 4, start), content, 0, content.length);
    found.push(content);
    at = start + length;
  }
  return found;
}

const lengths = fc.oneof(
  fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536, 131_071, 131_072, 300_000),
  fc.nat(200_000),
);
const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 70_000 })), { minLength: 1 });

function gathered(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  const gatherer = new FrameGatherer((piece) => pieces.push(Buffer.from(piece)), byteHandling);
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = Math.max(sizes[n % sizes.length]!, n > 3000 ? 70_000 : 1);
    gatherer.add(Buffer.from(bytes.subarray(at, at + size))); // its to change
    at += size;
  }
  gatherer.end();
  return pieces;
}

describe('frames on their way from a socket', () => {
  it('lose and gain nothing, however they are cut, and the large ones come whole', () => {
    const frames = fc.array(fc.tuple(lengths, fc.boolean()), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(frames, cuts, (shapes, sizes) => {
        const made = shapes.map(([length, masked]) => frame(length, masked));
        const bytes = Buffer.concat(made.flatMap(({ header, payload }) => [header, payload]));
        const pieces = gathered(bytes, sizes);
        const found = contents(Buffer.concat(pieces));
        expect(found.map(({ length }) => length)).toEqual(shapes.map(([length]) => length));
        expect(found.every((content, n) => content.equals(made[n]!.content))).toBe(true);
        const large = made.filter(({ content }) => content.length >= 131_072);
        const whole = pieces.filter((piece) => large.some(({ content }) => content.length === piece.length));
        expect(whole.length).toBe(large.length);
      }),
      { numRuns: 60 },
    );
  });

  it('go on as they are when the connection ends in the middle of one', () => {
    const { header, payload, content } = frame(200_000, true);
    const bytes = Buffer.concat([header, payload]).subarray(0, 150_000);
    const [found] = contents(Buffer.concat(gathered(bytes, [1000])));
    expect(found!.equals(content.subarray(0, 150_000 - header.length))).toBe(true);
  });

  it('of which too much is announced are left in pieces', () => {
    const header = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3, 4]);
    const pieces = gathered(Buffer.concat([header, Buffer.alloc(3000)]), [1000]);
    expect(pieces.map((piece) => piece.length)).toEqual([1000, 1000, 1000, 14]);
  });
});

/** A frame of this kind with this in it, masked as a client has to. */
function framed(first: number, content: string): Buffer {
  const { header, payload } = frame(content.length, true);
  const bytes = Buffer.concat([header, payload]);
  bytes[0] = first;
  unmask(Buffer.from(content), bytes.subarray(header.length - 4, header.length), bytes, header.length, content.length);
  return bytes;
}

/** A message in one frame or in two with a ping between them. */
const sent = (content: string, inTwo: boolean): Buffer[] =>
  inTwo
    ? [framed(0x01, content.slice(0, 5)), framed(0x89, 'ping'), framed(0x80, content.slice(5))]
    : [framed(0x81, content)];

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunks.at(-1)!.length) {
    chunks.push(bytes.subarray(at, at + sizes[chunks.length % sizes.length]!));
  }
  return chunks;
}

/** Gives the messages in the order in which they were taken, by the shortcut or from what was passed on. */
function run(chunks: readonly Buffer[], isOpen: () => boolean) {
  const receiver = frameReceiver({ isServer: true });
  const messages: string[] = [];
  let shortcuts = 0;
  const together: number[] = [];
  receiver.on('message', (data: Buffer) => messages.push(data.toString()));
  receiver.on('error', () => {}); // told below
  const take = (message: Uint8Array) => {
    shortcuts++;
    messages.push(Buffer.from(message).toString());
  };
  const gatherer = new FrameGatherer((piece) => receiver.write(piece), byteHandling, {
    isOpen,
    take,
    taken: () => together.push(shortcuts),
  });
  for (const chunk of chunks) gatherer.add(Buffer.from(chunk)); // its to change
  return { messages, shortcuts, together, failure: receiver.errored };
}

describe('a shortcut for messages that come whole', () => {
  it('changes neither the messages nor their order, whenever it is open and however they are cut', () => {
    const message = fc.tuple(fc.oneof(fc.nat(300), fc.constantFrom(125, 126, 65_535, 65_536)), fc.boolean());
    const openings = fc.array(fc.boolean(), { minLength: 1 });
    const coarse = fc.array(fc.integer({ min: 40, max: 70_000 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), coarse, openings, (shapes, sizes, open) => {
        const contents = shapes.map(([length], n) => `${n}`.padEnd(length, '.'));
        const bytes = Buffer.concat(contents.flatMap((content, n) => sent(content, shapes[n]![1])));
        let asked = 0;
        const { messages, failure } = run(cut(bytes, sizes), () => open[asked++ % open.length]!);
        expect(failure).toBeNull();
        expect(messages).toEqual(contents);
      }),
    );
  });

  it('is taken by all that come whole together, while it is open', () => {
    const messages = ['one', 'two'.repeat(60), 'three'];
    const chunk = Buffer.concat(messages.map((content) => framed(0x81, content)));
    expect(run([chunk], () => true)).toMatchObject({ messages, shortcuts: 3, together: [3] });
    expect(run([chunk], () => false)).toMatchObject({ messages, shortcuts: 0, together: [] });
  });

  it.each([
    ['comes in the middle of another', [framed(0x01, 'half of one'), framed(0x81, 'another')]],
    ['has no mask', [Buffer.concat([Buffer.from([0x81, 7]), Buffer.from('no mask')])]],
    ['makes use of an extension', [framed(0xc1, 'compressed')]],
  ])('is not taken by a message that %s, which is an error', (_what, frames) => {
    const { messages, failure } = run(frames, () => true);
    expect(messages).toEqual([]);
    expect(failure).toBeInstanceOf(Error);
  });
});

/** Listens until so much has come, or all; the pieces it came in. */
function take(socket: Socket, length = Number.POSITIVE_INFINITY): Promise<Buffer[]> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let taken = 0;
    socket.on('end', () => resolve(pieces));
    socket.on('data', (piece) => {
      pieces.push(piece);
      taken += piece.length;
      if (taken >= length) resolve(pieces);
    });
    socket.resume();
  });
}

describe('a socket that gathers frames', () => {
  it('gives a large payload in one piece, before and after what is small', async () => {
    using both = await socketPair();
    const [small, large] = [frame(10, true), frame(1_000_000, true)];
    const bytes = Buffer.concat([small, large, small].flatMap(({ header, payload }) => [header, payload]));
    gatherFrames(both.near, byteHandling);
    both.far.write(bytes);
    const pieces = await take(both.near, bytes.length);
    const found = contents(Buffer.concat(pieces));
    // Buffers compare themselves: a matcher would look at a million properties.
    expect(found.map((content, n) => content.equals([small, large, small][n]!.content))).toEqual([true, true, true]);
    expect(pieces.some((piece) => piece.equals(large.content))).toBe(true);
  });

  it('ends with what it has of a frame when the other side ends', async () => {
    using both = await socketPair();
    const { header, payload } = frame(1_000_000, true);
    gatherFrames(both.near, byteHandling);
    both.far.end(Buffer.concat([header, payload.subarray(0, 500_000)]));
    expect(Buffer.concat(await take(both.near)).length).toBe(header.length + 500_000);
  });

  it('keeps nothing back from one who had begun before', async () => {
    using both = await socketPair();
    const { header, payload } = frame(1_000_000, true);
    both.near.once('readable', () => {}); // has it read what comes
    both.far.write(Buffer.from([0x82, 0x84]));
    while (both.near.readableLength === 0) await once(both.near, 'readable');
    gatherFrames(both.near, byteHandling);
    const rest = Buffer.concat([header, payload.subarray(0, 100)]);
    both.far.write(rest);
    expect(Buffer.concat(await take(both.near, 2 + rest.length)).length).toBe(2 + rest.length);
  });
});
