import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { listeningHere, listeningPorts } from './listening-ports.ts';

const line = (address: string, state: string) =>
  `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 463341 1 0`;

it.each([
  ['0100007F:1F90', { host: '127.0.0.1', port: 8080 }],
  ['00000000:0016', { host: '0.0.0.0', port: 22 }],
  ['00000000000000000000000001000000:1FA3', { host: '::1', port: 8099 }],
  ['00000000000000000000000000000000:0050', { host: '::', port: 80 }],
  ['0000000000000000FFFF00000100007F:0050', { host: '::ffff:7f00:1', port: 80 }],
])('reads the socket at %s from the table of the kernel', (address, port) => {
  expect(listeningPorts(line(address, '0A'))).toEqual([{ ...port, inode: 463341 }]);
});

it('leaves out connections, and the head of the table', () => {
  expect(listeningPorts(`  sl  local_address rem_address   st tx_queue\n${line('0100007F:1F90', '01')}\n`)).toEqual([]);
});

it('finds what listens in its own network', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  expect(await listeningHere()).toContainEqual({ host: '127.0.0.1', port, inode: expect.any(Number) });
  server.close();
});
