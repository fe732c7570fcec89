import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { survives, usual } from './fault-rig.ts';

describe('connections that say nothing', () => {
  it(
    'delay no other client, and leave nothing: silent, half a request, no pong, gone in the middle',
    survives(usual, async (rig) => {
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
    }),
  );
});

describe('a client that breaks the rules many times in one breath', () => {
  it(
    'is cut off once',
    survives(usual, async (rig) => {
      let log = '';
      rig.server.process.stderr!.on('data', (chunk) => {
        log += chunk;
      });
      const client = await rig.connect();
      for (let n = 0; n < 40; n++) client.notify('no/such');
      await client.closed;
      await rig.serves();

      expect(log).not.toContain('MaxListenersExceededWarning');
    }),
  );
});

describe('a log that is not read any more', () => {
  it.each(['stderr', 'stdout'] as const)('does not end the server: %s', (stream) =>
    survives(usual, async (rig) => {
      rig.server.process[stream]!.destroy();
      for (let round = 0; round < 3; round++) await rig.serves();
    })(),
  );

  it(
    'delays no client when its reader is stopped',
    survives(usual, async (rig) => {
      rig.server.process.stderr!.removeAllListeners('data').pause();
      for (let round = 0; round < 40; round++) {
        await using client = await rig.connect();
        await (await client.start({ argv: ['true'] })).closed();
      }

      await rig.serves();

      rig.server.process.stderr!.resume();
    }),
  );
});
