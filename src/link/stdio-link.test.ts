import { PassThrough, Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heldBy } from '../../test/support/heap.ts';
import { deferred } from '../base/index.ts';
import { StdioLink } from './stdio-link.ts';

/** The messages that a link reads from these pieces of input. */
async function messagesOf(pieces: readonly Uint8Array[]): Promise<string[]> {
  const input = new PassThrough();
  const link = new StdioLink(input, new PassThrough());
  const messages: string[] = [];
  link.open((message) => void messages.push(Buffer.from(message).toString()));
  for (const piece of pieces) input.write(piece);
  input.end();
  await link.closed;
  return messages;
}

/** An output whose reader reads only when allowed. */
function stuckOutput() {
  const taken: string[] = [];
  const allowed = deferred();
  const output = new Writable({
    highWaterMark: 4,
    write(chunk: Buffer, _encoding, done) {
      void allowed.promise.then(() => {
        taken.push(chunk.toString());
        done();
      });
    },
  });
  return { output, taken, allow: allowed.resolve };
}

describe('lines of input', () => {
  it.each([
    ['end in a line feed or in a carriage return and a line feed', 'a\nb\r\n', ['a', 'b\r']],
    ['may be blank, and are then skipped', '\n \t\r\na\n\n\r\n', ['a']],
    ['need no end at the end of input', 'a\nb', ['a', 'b']],
    ['are none in empty input', '', []],
  ])('%s', async (_, text, messages) => {
    expect(await messagesOf([Buffer.from(text)])).toEqual(messages);
  });

  it('are the same however the input is cut', async () => {
    const line = fc.oneof(fc.string({ maxLength: 9 }), fc.constantFrom('', ' ', '\r', '\u00fc\ud83d\ude00'));
    const input = fc.tuple(
      fc.array(
        line.map((text) => text.replaceAll('\n', '')),
        { maxLength: 6 },
      ),
      fc.array(fc.nat(60)),
    );
    await fc.assert(
      fc.asyncProperty(input, async ([lines, cuts]) => {
        const bytes = Buffer.from(lines.join('\n'));
        const places = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort(
          (a, b) => a - b,
        );
        const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));

        expect(await messagesOf(pieces)).toEqual(lines.filter((text) => !/^[ \t\r]*$/.test(text)));
      }),
      { numRuns: 200 },
    );
  });

  it('wait while the receiver is busy', async () => {
    const input = new PassThrough();
    const link = new StdioLink(input, new PassThrough());
    const busy = deferred();
    const received: string[] = [];
    link.open((message) => {
      received.push(Buffer.from(message).toString());
      return busy.promise;
    });
    input.end('a\nb\n');
    await new Promise((resolve) => setImmediate(resolve));

    expect(received).toEqual(['a']);
    busy.resolve();
    await link.closed;
    expect(received).toEqual(['a', 'b']);
  });

  it('of more than 64 MiB end the connection', async () => {
    const mebibyte = Buffer.alloc(1024 * 1024, 'x');
    const input = new PassThrough();
    const link = new StdioLink(input, new PassThrough());
    const lengths: number[] = [];
    link.open((message) => void lengths.push(message.length));
    const write = async (count: number) => {
      for (let sent = 0; sent < count && !input.destroyed; sent++) {
        if (!input.write(mebibyte))
          await Promise.race([new Promise((resolve) => input.once('drain', resolve)), link.closed]);
      }
    };

    await write(63);
    input.write('\n');
    await write(66);
    await link.closed;

    expect(lengths).toEqual([63 * 1024 * 1024]);
  });
});

describe('messages to the output', () => {
  it('are lines', async () => {
    const output = new PassThrough();
    const link = new StdioLink(new PassThrough(), output);
    const delivered = deferred();
    void link.send('{"a":1}');
    void link.send(Buffer.from('{"b":2}'), delivered.resolve);
    await delivered.promise;

    expect(String(output.read())).toBe('{"a":1}\n{"b":2}\n');
  });

  it('let the sender wait while the output is full', async () => {
    const { output, taken, allow } = stuckOutput();
    const link = new StdioLink(new PassThrough(), output);
    const room = link.send('more than four bytes');
    let roomy = false;
    void room!.then(() => {
      roomy = true;
    });
    await new Promise((resolve) => setImmediate(resolve));

    expect({ roomy, taken }).toEqual({ roomy: false, taken: [] });
    allow();
    await room;
    expect(taken.join('')).toBe('more than four bytes\n');
  });

  it('may be waited for by many senders without a warning', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => void warnings.push(warning);
    process.on('warning', warned);
    const { output, allow } = stuckOutput();
    const link = new StdioLink(new PassThrough(), output);

    const waits = Array.from({ length: 20 }, () => link.send('more than four bytes'));
    allow();
    await Promise.all(waits);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);

    expect(warnings).toEqual([]);
  });

  it('are dropped when the reader is gone', async () => {
    const { output } = stuckOutput();
    const link = new StdioLink(new PassThrough(), output);
    const room = link.send('more than four bytes');

    output.destroy(new Error('EPIPE'));
    await room;
    await link.closed;

    expect(link.send('late')).toBeUndefined();
  });

  it('keep no memory of messages that had to wait for room', async () => {
    const output = new Writable({ highWaterMark: 4, write: (_chunk, _encoding, done) => setImmediate(done) });
    const link = new StdioLink(new PassThrough(), output);
    const held = await heldBy(async () => {
      for (let n = 0; n < 20_000; n++) await link.send('more than four bytes');
    });
    expect(held).toBeLessThan(1_000_000);
  });
});
