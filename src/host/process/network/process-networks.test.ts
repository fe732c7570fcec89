import { fstatSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectIn } from '../../../../test/support/connect-in.ts';
import { silentLogger } from '../../../base/index.ts';
import { PathUri } from '../../../protocol/index.ts';
import { claimServerNumber, familyMark, type NetworkNamespace } from '../../os/index.ts';
import { CommandLaunchers, SandboxHost, SessionNetwork } from '../../sandbox/index.ts';
import { ProcessTable, type ProcessTableOptions } from '../table.ts';

const sandboxes = new SandboxHost({ environment: {} });
const server = claimServerNumber();
let marks = 0;
const nextMark = (): bigint => familyMark(server, 1, ++marks);

const newTable = (): ProcessTable =>
  new ProcessTable({
    audience: { send: () => {}, probe: () => {}, wantsDenials: false, answers: async () => true },
    ownEnvironment: {},
    settings: () => ({
      retainedOutputBytesPerProcess: 1024,
      maxProcessesPerConnection: 10,
      allowDirectExec: true,
      allowPreparedExec: true,
    }),
    closedProcessMs: 1000,
    observer: {
      bytes: { output: 0, stdin: 0 },
      starting: () => ({ started: () => {}, failed: () => {}, exited: () => {} }),
    },
    ...{ sandboxes, launchers: new CommandLaunchers(), log: silentLogger, nextMark },
  } as unknown as ProcessTableOptions);

const sandbox = {
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

/** Starts a program that prints its network when it runs, and then lasts until it is terminated. */
async function start(table: ProcessTable, more: object, sessionNetwork?: NetworkNamespace): Promise<string> {
  const argv = ['/bin/sh', '-c', 'readlink /proc/self/ns/net; exec sleep 60'];
  const params = { processId: 'p', argv, cwd: PathUri.parse('/'), env: { PATH: '/usr/bin:/bin' }, tty: false, ...more };
  table.start(params as unknown as Parameters<ProcessTable['start']>[0], { sessionNetwork });
  const process = table.get('p')!;
  await process.view.readable({ processId: 'p', waitMs: 20_000 }, new AbortController().signal);
  const { parts } = process.view.read({ processId: 'p' });
  const text = Buffer.concat(parts.map((part) => Buffer.from(part))).toString();
  return Buffer.from(/"chunk":"([^"]+)"/.exec(text)![1]!, 'base64')
    .toString()
    .trim();
}

const shownBy = (network: NetworkNamespace | undefined): string | undefined =>
  network && `net:[${fstatSync(network.descriptor).ino}]`;

describe('the network of a process', () => {
  it('is that of the server if it has no sandbox', async () => {
    await using table = newTable();
    await start(table, {});
    expect(await table.networkOf('p')).toBeUndefined();
  });

  it('is that of its session if it shares it', async () => {
    await using table = newTable();
    using session = new SessionNetwork(sandboxes.networks, nextMark);
    const shown = await start(table, { sandbox, network: 'loopback' }, await session.namespace());
    expect(shownBy(await table.networkOf('p'))).toBe(shown);
    expect(shownBy(session.existing)).toBe(shown);
  });

  it('is its own if it has one, and is closed with it', async () => {
    await using table = newTable();
    const shown = await start(table, { sandbox });
    const network = await table.networkOf('p');
    expect(shownBy(network)).toBe(shown);
    expect(await table.networkOf('p')).toBe(network);
    const host = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => host.once('listening', resolve));
    const { port } = host.address() as AddressInfo;
    await expect(connectIn(network!, '127.0.0.1', port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    host.close();
    table.terminate({ processId: 'p' });
    await table.get('p')!.view.wait({ until: 'closed' }, new AbortController().signal);
    await new Promise(setImmediate);
    expect(() => network!.descriptor).toThrow('closed');
    await expect(table.networkOf('p')).rejects.toThrow('the process has ended');
  });

  it.runIf(process.getuid!() === 0)(
    'is another one if its command has left that of the server, as only root can',
    async () => {
      await using table = newTable();
      const argv = ['unshare', '-n', '/bin/sh', '-c', 'readlink /proc/self/ns/net; exec sleep 60'];
      const shown = await start(table, { argv });
      const network = await table.networkOf('p');
      expect(shownBy(network)).toBe(shown);
      await expect(connectIn(network!, '127.0.0.1', 9)).rejects.toMatchObject({ code: 'ENETUNREACH' });
    },
  );

  it('is unknown of a process that is none of its session', async () => {
    await using table = newTable();
    await expect(table.networkOf('p')).rejects.toThrow('unknown process id p');
  });
});
