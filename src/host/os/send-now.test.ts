import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { socketPair } from '../../../test/support/socket-pair.ts';
import { sendNow } from './send-now.ts';

async function read(socket: Socket, length: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of socket) {
    pieces.push(piece as Buffer);
    if (pieces.reduce((sum, { length }) => sum + length, 0) >= length) break;
  }
  return Buffer.concat(pieces);
}

describe('bytes that the system takes at once', () => {
  it('arrive, in one part or two', async () => {
    using both = await socketPair();
    const { near, far } = both;
    expect(sendNow(near, Buffer.from('one '))).toBe(4);
    expect(sendNow(near, Buffer.from('two '), Buffer.from('three'))).toBe(9);
    expect((await read(far, 13)).toString()).toBe('one two three');
  });

  it('are as many as there is room for, and none once some wait in the socket', async () => {
    using both = await socketPair();
    const { near, far } = both;
    const bytes = Buffer.alloc(64 * 1024 * 1024, 'all of this ');
    const sent = sendNow(near, bytes);
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(bytes.length);

    near.write(bytes.subarray(sent));
    expect(sendNow(near, Buffer.from('too soon'))).toBe(0);
    expect((await read(far, bytes.length)).equals(bytes)).toBe(true);
  });

  it.each([
    ['has been ended', (near: Socket) => void near.end()],
    ['is gone', (near: Socket) => void near.destroy()],
  ])('are none when the socket %s', async (_what, finish) => {
    using both = await socketPair();
    const { near } = both;
    finish(near);
    expect(sendNow(near, Buffer.from('too late'))).toBe(0);
  });

  it('are none when nobody takes them any more, and the socket finds out why', async () => {
    using both = await socketPair();
    const { near, far } = both;
    far.resetAndDestroy();
    const failed = once(near, 'error');
    await once(far, 'close');
    while (sendNow(near, Buffer.from('x')) > 0);
    near.write('x');
    expect(((await failed)[0] as NodeJS.ErrnoException).code).toMatch(/^(ECONNRESET|EPIPE)$/);
  });
});
