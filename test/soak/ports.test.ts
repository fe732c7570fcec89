import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { deferred } from '../../src/base/index.ts';
import { PortServer } from '../system/ports/port-servers.ts';
import { reaches } from '../system/ports/reaches.ts';

const BLOCK = randomBytes(1024 * 1024 - 1);
const BLOCKS = 1025; // a good 1 GB

function digest(): string {
  const hash = createHash('sha256');
  for (let sent = 0; sent < BLOCKS; sent++) hash.update(BLOCK);
  return hash.digest('hex');
}

it.each(reaches)(
  '1 GB from a port arrives as it was sent, cut again and again, $way',
  { timeout: 1_200_000 },
  async ({ reach }) => {
    const { client, cut } = await reach();
    await using port = await PortServer.listen(async (socket) => {
      for (let sent = 0; sent < BLOCKS; sent++) {
        if (!socket.write(BLOCK)) await new Promise<void>((resolve) => socket.once('drain', resolve));
      }
      socket.end();
    });
    const stream = await client.openPort({ port: port.port });
    const hash = createHash('sha256');
    let untilCut = 100_000_000;
    for await (const part of stream) {
      hash.update(part);
      untilCut -= part.length;
      if (untilCut > 0) continue;
      untilCut = 100_000_000;
      cut();
    }
    expect(hash.digest('hex')).toBe(digest());
  },
);

it.each(reaches)(
  '1 GB to a port arrives as it was sent, cut again and again, $way',
  { timeout: 1_200_000 },
  async ({ reach }) => {
    const { client, cut } = await reach();
    const received = deferred<string>();
    await using port = await PortServer.listen((socket) => {
      const hash = createHash('sha256');
      socket.on('data', (part) => hash.update(part)).once('end', () => received.resolve(hash.digest('hex')));
    });
    await using stream = await client.openPort({ port: port.port });
    for (let sent = 0; sent < BLOCKS; sent++) {
      if (sent % 100 === 50) cut();
      await stream.write(BLOCK);
    }
    await stream.end();
    expect(await received.promise).toBe(digest());
  },
);
