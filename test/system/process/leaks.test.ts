import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { childrenOf, descriptorsOf } from '../../support/proc.ts';
import { startPreparedServer } from '../../support/server.ts';
import { connect, type WireClient } from '../../support/wire-client.ts';

async function startMany(client: WireClient, count: number): Promise<void> {
  for (let started = 0; started < count; started += 50) {
    const batch = Array.from({ length: 50 }, (_, n) =>
      client.start({ processId: `${started + n}`, argv: ['/bin/echo', 'x'], tty: n % 5 === 0, pipeStdin: n % 3 === 0 }),
    );
    await Promise.all((await Promise.all(batch)).map((process) => process.closed()));
  }
}

describe('a server', () => {
  it('has as many descriptors and children after 2,000 processes as before', async () => {
    await using server = await startPreparedServer();
    await using client = await connect(server.url);
    const before = { descriptors: descriptorsOf(server.pid), children: childrenOf(server.pid) };
    await startMany(client, 2000);
    const facts = () => ({ descriptors: descriptorsOf(server.pid), children: childrenOf(server.pid) });
    await expect.poll(facts).toEqual(before);
  });

  it('has as many descriptors after failed starts as before', async () => {
    await using server = await startPreparedServer();
    await using client = await connect(server.url);
    const before = descriptorsOf(server.pid);
    const attempts = Array.from({ length: 500 }, (_, n) => client.start({ argv: ['/no/such'], tty: n % 2 === 0 }));
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    await expect.poll(() => descriptorsOf(server.pid)).toBeLessThanOrEqual(before);
    expect(childrenOf(server.pid).filter(({ state }) => state === 'Z')).toEqual([]);
  });

  it('has as many descriptors after 200 connections as before', async () => {
    await using server = await startPreparedServer({ args: ['--detached-session-ttl-ms', '0'] });
    const before = { descriptors: descriptorsOf(server.pid), children: childrenOf(server.pid) };
    for (let n = 0; n < 200; n++) {
      const client = await connect(server.url);
      await client.start({ argv: ['sleep', '900'], tty: n % 2 === 0 });
      client.cut();
    }
    await expect.poll(() => descriptorsOf(server.pid), { timeout: 20_000 }).toBeLessThanOrEqual(before.descriptors);
    await expect.poll(() => childrenOf(server.pid), { timeout: 20_000 }).toEqual(before.children);
  });

  it('closes files that were still waiting to be opened when their connection was cut', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'exec-server-leaks-'));
    await using server = await startPreparedServer({ args: ['--detached-session-ttl-ms', '0'] });
    const path = `file://${folder}/file`;
    const before = descriptorsOf(server.pid);
    for (let round = 0; round < 30; round++) {
      const client = await connect(server.url);
      const calls: Promise<unknown>[] = [];
      for (let n = 0; n < 20; n++) {
        calls.push(client.call('fs/writeFile', { path, dataBase64: '' }));
        calls.push(client.call('fs/open', { handleId: `h${n}`, path, mode: 'replace' }));
      }
      const outcomes = Promise.allSettled(calls);
      await calls[0];
      client.cut();
      await outcomes;
    }
    await expect.poll(() => descriptorsOf(server.pid), { timeout: 20_000 }).toBeLessThanOrEqual(before);
    await server.stop(); // calls that were accepted may still write
    await rm(folder, { recursive: true });
  });
});
