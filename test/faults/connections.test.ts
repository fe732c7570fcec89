import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/proc.ts';
import { FaultRig } from './fault-rig.ts';

describe('connections that say nothing', () => {
  it('hold nobody up, and leave nothing: silent, half a request, no pong, gone in the middle', async () => {
    await using rig = await FaultRig.start();
    const port = Number(new URL(rig.server.url).port);
    const sockets: Socket[] = [];
    for (let n = 0; n < 60; n++) {
      const socket = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {});
      await once(socket, 'connect');
      if (n % 3 === 1) socket.write('GET / HTTP/1.1\r\nHost: x\r\nUpgrade: webso');
      if (n % 3 === 2) socket.end('GET / HT');
      sockets.push(socket);
    }
    const silent = await Promise.all(Array.from({ length: 10 }, () => rig.connect()));
    for (const client of silent) {
      await client.start({ argv: ['cat', '/dev/zero'] });
      client.socket.pause();
    }

    await rig.serves();

    for (const socket of sockets) socket.destroy();
    for (const client of silent) client.cut();
    await rig.recovered();
  });
});

describe('a log that is not read any more', () => {
  it.each(['stderr', 'stdout'] as const)('does not end the server: %s', async (stream) => {
    await using rig = await FaultRig.start();

    rig.server.process[stream]!.destroy();
    for (let round = 0; round < 3; round++) await rig.serves();

    await rig.recovered();
    expect(rig.server.process.exitCode).toBeNull();
  });

  it('holds nobody up when its reader is stopped', async () => {
    await using rig = await FaultRig.start();
    rig.server.process.stderr!.removeAllListeners('data').pause();
    for (let round = 0; round < 40; round++) {
      await using client = await rig.connect();
      await (await client.start({ argv: ['true'] })).closed();
    }

    await rig.serves();

    rig.server.process.stderr!.resume();
    await eventually('the server', () => rig.server.process.exitCode === null);
    await rig.recovered();
  });
});
