import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import type { ExecServerClient } from '../../../src/client/index.ts';
import { HostileNetwork } from '../../relay/hostile-network.ts';
import { sha256 } from '../../support/digest.ts';
import { unreliable } from '../../support/frame-proxy.ts';
import { randomFrom } from '../../support/seeded.ts';
import { meet } from './faults-fixture.ts';

async function randomFile(scope: Scope, bytes: number): Promise<{ path: string; digest: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'exec-server-relay-'));
  scope.defer(() => rm(folder, { recursive: true }));
  const content = randomBytes(bytes);
  const path = join(folder, 'content');
  await writeFile(path, content);
  return { path, digest: sha256(content) };
}

async function digestOf(client: ExecServerClient, path: string): Promise<string> {
  const process = await client.start({ argv: ['cat', path] });
  const hash = createHash('sha256');
  for await (const { bytes } of process.output) hash.update(bytes);
  return hash.digest('hex');
}

describe('a link that drops one frame in a hundred and delivers five of them late', () => {
  it('carries 100 MB over one stream where deliveries are acknowledged', { timeout: 180_000 }, async () => {
    await using scope = new Scope();
    const file = await randomFile(scope, 100_000_000);
    const { network, connect, streams } = await meet(scope, { reliable: true });
    const client = await connect();
    network.data['from harness'] = new HostileNetwork(unreliable(randomFrom(1), 1, 5)).carry;
    network.data['to harness'] = new HostileNetwork(unreliable(randomFrom(2), 1, 5)).carry;

    expect(await digestOf(client, file.path)).toBe(file.digest);
    expect(streams()).toBe(1);
  });

  it('ends a stream at the rendezvous otherwise, without waiting, and its session goes on', async () => {
    await using scope = new Scope();
    const file = await randomFile(scope, 600_000);
    const { network, connect, streams, registryUrl } = await meet(scope, { reliable: false });
    const client = await connect();
    const { sessionId } = client;
    network.data['from environment'] = new HostileNetwork([...Array(6).fill({ type: 'pass' }), { type: 'drop' }]).carry;

    expect(await digestOf(client, file.path)).toBe(file.digest);

    const metrics = await (await fetch(`${registryUrl}/metrics`)).text();
    expect(metrics).toContain('rendezvous_resets_total{reason="frame_lost"}');
    expect([streams(), client.sessionId]).toEqual([2, sessionId]);
  });
});
