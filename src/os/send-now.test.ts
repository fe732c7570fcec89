import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Scope } from '../base/index.ts';
import { sendNow } from './send-now.ts';

/** Both ends of a connection; nobody reads at the far one. */
async function connection(scope: Scope): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  scope.defer(() => void server.close());
  await once(server, 'listening');
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[near]] = (await Promise.all([once(server, 'connection'), once(far, 'connect')])) as [[Socket], unknown];
  scope.defer(() => void [near, far].map((socket) => socket.destroy()));
  return { near, far };
}

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
    await using scope = new Scope();
    const { near, far } = await connection(scope);
    expect(sendNow(near, Buffer.from('one '))).toBe(4);
    expect(sendNow(near, Buffer.from('two '), Buffer.from('three'))).toBe(9);
    expect((await read(far, 13)).toString()).toBe('one two three');
  });

  it('are as many as there is room for, and none once some wait in the socket', async () => {
    await using scope = new Scope();
    const { near, far } = await connection(scope);
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
    await using scope = new Scope();
    const { near } = await connection(scope);
    finish(near);
    expect(sendNow(near, Buffer.from('too late'))).toBe(0);
  });

  it('are none when nobody takes them any more, and the socket finds out why', async () => {
    await using scope = new Scope();
    const { near, far } = await connection(scope);
    far.resetAndDestroy();
    const failed = once(near, 'error');
    await once(far, 'close');
    while (sendNow(near, Buffer.from('x')) > 0);
    near.write('x');
    expect(((await failed)[0] as NodeJS.ErrnoException).code).toMatch(/^(ECONNRESET|EPIPE)$/);
  });
});
