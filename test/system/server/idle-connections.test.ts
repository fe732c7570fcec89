import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { portOf } from '../../support/peer-probe.ts';
import { startServer } from '../../support/server.ts';
import { connect, connectBare } from '../../support/wire-client.ts';

/** Opens connections that say nothing. */
async function silence(url: string, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () =>
    connectTcp({ host: '127.0.0.1', port: Number(portOf(url)) }).on('error', () => {}),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets;
}

describe('connections that say nothing', () => {
  it('lock no client out, a thousand of them', async () => {
    await using server = await startServer();
    const silent = await silence(server.url, 1024);

    await using client = await connect(server.url);
    expect(await client.call('environment/info', {})).toBeDefined();

    for (const socket of silent) socket.destroy();
  });

  it('do not count as connections that are served, and those have a budget of their own', async () => {
    await using server = await startServer({ args: ['--max-connections', '1'] });
    const silent = await silence(server.url, 10);
    await using client = await connect(server.url);

    await expect(connectBare(server.url)).rejects.toThrow('503');

    expect(await client.call('environment/info', {})).toBeDefined();
    for (const socket of silent) socket.destroy();
  });

  it('are closed when they have not sent the head of a request in time', async () => {
    await using server = await startServer();
    const [silent] = await silence(server.url, 1);
    silent!.write('GET / HTTP/1.1\r\nHost: h\r\n');

    await once(silent!.resume(), 'close');
    expect(silent!.destroyed).toBe(true);
  });
});
