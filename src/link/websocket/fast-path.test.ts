import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { socketPair } from '../../../test/support/socket-pair.ts';
import { byteOperations } from '../../../test/support/unmask.ts';
import { contents, frame } from '../../../test/support/websocket-frames.ts';
import { sendNow } from '../../host/os/index.ts';
import { FastPath, type NativeBytes } from './fast-path.ts';

const native: NativeBytes = { send: sendNow, ...byteOperations };
const fastPathOver = (socket: Socket, written = () => {}): FastPath => FastPath.over(socket, native, written)!;

/** Reads until `length` bytes have arrived, or to the end; gives the pieces in which they arrived. */
function read(socket: Socket, length = Number.POSITIVE_INFINITY): Promise<Buffer[]> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let received = 0;
    socket.on('end', () => resolve(pieces));
    socket.on('data', (piece) => {
      pieces.push(piece);
      received += piece.length;
      if (received >= length) resolve(pieces);
    });
    socket.resume();
  });
}

const HEADER_OF_64_MIB = 10;

describe('messages that the fast path sends', () => {
  it('arrive as frames in order, also those that wait in the socket until the peer reads', async () => {
    using both = await socketPair();
    let written = 0;
    const fastPath = fastPathOver(both.near, () => written++);
    const large = Buffer.alloc(64 * 1024 * 1024, 'all of this ');

    fastPath.write('first');
    fastPath.write(large);
    expect(both.near.writableLength).toBeGreaterThan(0);
    expect(both.near.writableLength).toBeLessThan(large.length);
    fastPath.write('last');
    fastPath.flush();

    const length = 7 + HEADER_OF_64_MIB + large.length + 6;
    const found = contents(Buffer.concat(await read(both.far, length)));
    expect(found.map((content) => content.length)).toEqual([5, large.length, 4]);
    expect([`${found[0]}`, found[1]!.equals(large), `${found[2]}`]).toEqual(['first', true, 'last']);
    expect(written).toBeGreaterThan(0);
  });

  it.each([
    ['has been ended', (near: Socket) => void near.end()],
    ['is destroyed', (near: Socket) => void near.destroy()],
  ])('are not sent on a socket that %s', async (_what, finish) => {
    using both = await socketPair();
    const { near, far } = both;
    near.on('error', () => {}); // reports the write after the end
    const fastPath = fastPathOver(near);
    finish(near);
    fastPath.write('too late');
    fastPath.flush();

    expect(await read(far)).toEqual([]);
  });

  it('leave it to the socket to report that the peer is gone', async () => {
    using both = await socketPair();
    const { near, far } = both;
    const fastPath = fastPathOver(near);
    far.resetAndDestroy();
    const failed = once(near, 'error');
    await once(far, 'close');
    const write = setInterval(() => {
      fastPath.write('x');
      fastPath.flush();
    });
    const [error] = (await failed) as [NodeJS.ErrnoException];
    clearInterval(write);

    expect(error.code).toMatch(/^(ECONNRESET|EPIPE)$/);
  });
});

const receiver = { isOpen: () => false, take: () => {}, consumed: () => {} };

describe('frames that the fast path receives', () => {
  it('come with a large payload in one piece, before and after small ones', async () => {
    using both = await socketPair();
    const [small, large] = [frame(10, true), frame(1_000_000, true)];
    const bytes = Buffer.concat([small, large, small].flatMap(({ header, payload }) => [header, payload]));
    fastPathOver(both.near).receive(receiver);
    both.far.write(bytes);
    const pieces = await read(both.near, bytes.length);
    const found = contents(Buffer.concat(pieces));
    // Compared by `Buffer.equals`: a matcher would compare a million properties.
    expect(found.map((content, n) => content.equals([small, large, small][n]!.content))).toEqual([true, true, true]);
    expect(pieces.some((piece) => piece.equals(large.content))).toBe(true);
  });

  it('are passed on unfinished when the peer ends', async () => {
    using both = await socketPair();
    const { header, payload } = frame(1_000_000, true);
    fastPathOver(both.near).receive(receiver);
    both.far.end(Buffer.concat([header, payload.subarray(0, 500_000)]));
    expect(Buffer.concat(await read(both.near)).length).toBe(header.length + 500_000);
  });

  it('are passed on unchanged when bytes had arrived before', async () => {
    using both = await socketPair();
    const { header, payload } = frame(1_000_000, true);
    both.near.once('readable', () => {}); // starts reading
    both.far.write(Buffer.from([0x82, 0x84]));
    while (both.near.readableLength === 0) await once(both.near, 'readable');
    fastPathOver(both.near).receive(receiver);
    const rest = Buffer.concat([header, payload.subarray(0, 100)]);
    both.far.write(rest);
    expect(Buffer.concat(await read(both.near, 2 + rest.length)).length).toBe(2 + rest.length);
  });
});

describe('the fast path', () => {
  it('does not exist over a stream that is not a socket', () => {
    expect(FastPath.over(new PassThrough(), native, () => {})).toBeUndefined();
  });
});
