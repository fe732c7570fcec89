import { describe, expect, it } from 'vitest';
import { concatBytes, decodeUtf8 } from '../../../src/base/index.ts';
import type { ExecServerClient, RemoteProcess, StartOptions } from '../../../src/client/index.ts';
import type { Sandbox } from '../../../src/protocol/index.ts';
import { PortServer } from './port-servers.ts';
import { reaches } from './reaches.ts';

const sandbox: Sandbox = {
  windowsSandboxLevel: 'disabled',
  permissions: {
    type: 'managed',
    network: 'restricted',
    file_system: {
      type: 'restricted',
      entries: [{ path: { type: 'special', value: { kind: 'root' } }, access: 'read' }],
    },
  },
};

/** Node's own HTTP server on a free port, which it prints, and the proxy that it was given. */
const SERVE = `const server = require('http').createServer((_, answer) => answer.end('from ' + process.argv[1]));
  server.listen(0, () => console.log(server.address().port, process.env.HTTP_PROXY))`;

/** A network of its own, with a proxy inside. */
const APART = { allow: ['example.com'] };

interface Served {
  readonly process: RemoteProcess;
  readonly port: number;
  readonly proxy: string;
}

async function serve(client: ExecServerClient, name: string, options: Partial<StartOptions>): Promise<Served> {
  const process_ = await client.start({ argv: [process.execPath, '-e', SERVE, name], ...options } as StartOptions);
  for await (const { bytes } of process_.output) {
    const [port, proxy = ''] = decodeUtf8(bytes).trim().split(' ');
    return { process: process_, port: Number(port), proxy };
  }
  throw new Error(`the server ${name} has ended`);
}

async function get(client: ExecServerClient, port: number, processId?: string): Promise<string> {
  await using stream = await client.openPort({ port, ...(processId !== undefined && { processId }) });
  await stream.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return decodeUtf8(concatBytes(parts)).split('\r\n\r\n')[1]!;
}

describe.each(reaches)('a connection of a client that reaches its server $way', ({ reach }) => {
  it('enters the network of a sandboxed process, which nothing else reaches', async () => {
    const { client } = await reach();
    const one = await serve(client, 'one', { sandbox, network: APART });
    const two = await serve(client, 'two', { sandbox, network: APART });
    await using host = await PortServer.listen((socket) => socket.end('host'));

    expect(await get(client, one.port, one.process.processId)).toContain('from one');
    expect(await get(client, two.port, two.process.processId)).toContain('from two');

    const nothing = `nothing listens there (ECONNREFUSED)`;
    await expect(get(client, one.port)).rejects.toThrow(nothing);
    await expect(get(client, host.port, one.process.processId)).rejects.toThrow(nothing);
    await expect(client.openPort({ host: '192.0.2.1', port: 1, processId: one.process.processId })).rejects.toThrow(
      'host 192.0.2.1 port 1 may not be reached: this network reaches only its own loopback',
    );
    const { port: proxy } = new URL(one.proxy);
    await expect(get(client, Number(proxy), one.process.processId)).rejects.toThrow(
      'a listener of exec-server is there',
    );
    expect(await client.ports({ processId: one.process.processId })).toEqual([
      expect.objectContaining({ host: '::', port: one.port, processId: one.process.processId }),
    ]);
    await one.process.terminate();
    await one.process.wait();
    await expect(get(client, one.port, one.process.processId)).rejects.toThrow('the process has ended');
  });

  it('enters the network that the session shares, from the first command that asks for it on', async () => {
    const { client } = await reach();
    await using host = await PortServer.listen((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nfrom host'));
    expect(await get(client, host.port)).toBe('from host');

    const shared = await serve(client, 'shared', { sandbox, network: 'loopback' });
    const outside = await serve(client, 'outside', {});

    expect(await get(client, shared.port)).toContain('from shared');
    expect(await get(client, shared.port, shared.process.processId)).toContain('from shared');
    expect(await get(client, outside.port, outside.process.processId)).toContain('from outside');
    await expect(get(client, host.port)).rejects.toThrow('nothing listens there');
    expect((await client.ports()).map(({ port }) => port)).toEqual([shared.port]);
    await expect(client.openPort({ port: shared.port, processId: 'of nobody' })).rejects.toThrow(
      'unknown process id of nobody',
    );
  });
});
