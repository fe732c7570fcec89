import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameReceiver } from '../../../test/support/frame-receiver.ts';
import { byteOperations, unmask } from '../../../test/support/unmask.ts';
import { contents, frame } from '../../../test/support/websocket-frames.ts';
import { FrameGatherer } from './frame-gatherer.ts';

const lengths = fc.oneof(
  fc.constantFrom(0, 1, 125, 126, 127, 65_535, 65_536, 131_071, 131_072, 300_000),
  fc.nat(200_000),
);
const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 70_000 })), { minLength: 1 });

function gathered(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  const gatherer = new FrameGatherer((piece) => pieces.push(Buffer.from(piece)), byteOperations);
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = Math.max(sizes[n % sizes.length]!, n > 3000 ? 70_000 : 1);
    gatherer.add(Buffer.from(bytes.subarray(at, at + size))); // a copy, since the gatherer unmasks in place
    at += size;
  }
  gatherer.end();
  return pieces;
}

describe('frames that pass the gatherer', () => {
  it('keep all their bytes, however they are cut, and large ones are passed on whole', () => {
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

  it('are passed on unfinished when the connection ends in the middle of one', () => {
    const { header, payload, content } = frame(200_000, true);
    const bytes = Buffer.concat([header, payload]).subarray(0, 150_000);
    const [found] = contents(Buffer.concat(gathered(bytes, [1000])));
    expect(found!.equals(content.subarray(0, 150_000 - header.length))).toBe(true);
  });

  it('are left in pieces when they announce more than 16 MiB', () => {
    const header = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3, 4]);
    const pieces = gathered(Buffer.concat([header, Buffer.alloc(3000)]), [1000]);
    expect(pieces.map((piece) => piece.length)).toEqual([1000, 1000, 1000, 14]);
  });
});

/** A masked frame with this first byte and this content. */
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

/** The messages in order, those that the gatherer handed over and those that `ws` read from what it passed on. */
function run(chunks: readonly Buffer[], isOpen: () => boolean) {
  const receiver = frameReceiver({ isServer: true });
  const messages: string[] = [];
  let whole = 0;
  const together: number[] = [];
  receiver.on('message', (data: Buffer) => messages.push(data.toString()));
  receiver.on('error', () => {}); // returned as `failure`
  const take = (message: Uint8Array) => {
    whole++;
    messages.push(Buffer.from(message).toString());
  };
  const gatherer = new FrameGatherer((piece) => receiver.write(piece), byteOperations, {
    isOpen,
    take,
    consumed: () => together.push(whole),
  });
  for (const chunk of chunks) gatherer.add(Buffer.from(chunk));
  return { messages, whole, together, failure: receiver.errored };
}

describe('messages that arrive whole', () => {
  it('are handed over in the order of all messages, whenever the receiver is open and however the bytes are cut', () => {
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

  it('are all handed over while the receiver is open', () => {
    const messages = ['one', 'two'.repeat(60), 'three'];
    const chunk = Buffer.concat(messages.map((content) => framed(0x81, content)));
    expect(run([chunk], () => true)).toMatchObject({ messages, whole: 3, together: [3] });
    expect(run([chunk], () => false)).toMatchObject({ messages, whole: 0, together: [] });
  });

  it.each([
    ['comes in the middle of another', [framed(0x01, 'half of one'), framed(0x81, 'another')]],
    ['has no mask', [Buffer.concat([Buffer.from([0x81, 7]), Buffer.from('no mask')])]],
    ['makes use of an extension', [framed(0xc1, 'compressed')]],
  ])('are left to ws where one %s, which is an error', (_what, frames) => {
    const { messages, failure } = run(frames, () => true);
    expect(messages).toEqual([]);
    expect(failure).toBeInstanceOf(Error);
  });
});
