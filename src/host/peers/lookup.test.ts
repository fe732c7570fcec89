import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { descriptorOf } from '../../link/index.ts';
import { addressBytes, findPeer } from './lookup.ts';

/** Accepts one connection and looks up its peer. */
async function peerOn(server: Server, connecting: () => { end(): void }, before?: (socket: Socket) => Promise<void>) {
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connecting();
  const [socket] = await accepted;
  await before?.(socket);
  try {
    return await findPeer({ socket, users: new Set([own]) }, 'none');
  } finally {
    socket.destroy();
    client.end();
    server.close();
  }
}

const own = process.geteuid!();

describe('the peer of a connection through a Unix socket', () => {
  async function peerThrough(
    users: readonly number[],
    before?: (client: Socket, accepted: Socket) => Promise<unknown>,
  ) {
    const folder = mkdtempSync(join(tmpdir(), 'peer-'));
    const server = createServer({ allowHalfOpen: true }).listen(join(folder, 'socket'));
    try {
      await once(server, 'listening');
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = connect(join(folder, 'socket'));
      const [socket] = await accepted;
      await before?.(client, socket);
      const peer = await findPeer(
        { socket, unix: { descriptor: descriptorOf(socket) }, users: new Set(users) },
        'none',
      );
      client.destroy();
      socket.destroy();
      return peer;
    } finally {
      server.close();
      rmSync(folder, { recursive: true });
    }
  }

  it('is found with its user', async () => {
    expect(await peerThrough([own])).toEqual({ at: 'this host', uid: own, holder: 'outside' });
  });

  it('is not searched for if its user is not served', async () => {
    expect(await peerThrough([own + 1])).toEqual({ at: 'this host', uid: own, holder: 'unseen' });
  });

  it('is unknown once it has closed the connection', async () => {
    const closing = async (client: Socket, accepted: Socket) => {
      client.destroy();
      await once(accepted.resume(), 'end');
    };

    expect(await peerThrough([own], closing)).toEqual({ at: 'unknown' });
  });

  it('is unknown once this end is closed', async () => {
    const closing = async (_: Socket, accepted: Socket) => void (await once(accepted.destroy(), 'close'));

    expect(await peerThrough([own], closing)).toEqual({ at: 'unknown' });
  });
});

describe('the peer of a connection', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['::', '127.0.0.1'],
  ])('on %s from %s is found with its user', async (address, from) => {
    const server = createServer().listen(0, address);
    const connecting = () => connect({ host: from, port: (server.address() as { port: number }).port });

    expect(await peerOn(server, connecting)).toEqual({ at: 'this host', uid: own, holder: 'outside' });
  });

  it('is unknown once it has closed the connection', async () => {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    const connecting = () => {
      const client = connect({ host: '127.0.0.1', port: (server.address() as { port: number }).port });
      return client.once('connect', () => client.destroy());
    };
    const ended = async (socket: Socket) => void (await once(socket.resume(), 'end'));

    expect(await peerOn(server, connecting, ended)).toEqual({ at: 'unknown' });
  });

  it.each([
    [[], 'outside'],
    [['unshare', '--user', '--map-root-user', '--pid', '--fork'], 'elsewhere'],
  ])('within %j is %s', async (within, holder) => {
    const server = createServer().listen(0, '127.0.0.1');
    const script = `require('net').connect(process.argv[1], '127.0.0.1').on('close', () => process.exit())`;
    const connecting = () => {
      const { port } = server.address() as { port: number };
      const [file = '', ...args] = [...within, process.execPath, '-e', script, `${port}`];
      return { end: spawn(file, args, { stdio: 'ignore' }).ref };
    };

    expect(await peerOn(server, connecting)).toEqual({ at: 'this host', uid: own, holder });
  });
});

describe('the bytes of an address', () => {
  it.each([
    ['127.0.0.1', '7f000001'],
    ['::ffff:127.0.0.1', '7f000001'],
    ['::ffff:7f00:1', '7f000001'],
    ['::1', '00000000000000000000000000000001'],
    ['fe80::1:2%eth0', 'fe800000000000000000000000010002'],
    ['2001:db8:0:1:2:3:4:5', '20010db8000000010002000300040005'],
  ])('%s', (text, bytes) => {
    expect(Buffer.from(addressBytes(text)!).toString('hex')).toBe(bytes);
  });

  it('are none for a name', () => {
    expect(addressBytes('localhost')).toBeUndefined();
  });
});
