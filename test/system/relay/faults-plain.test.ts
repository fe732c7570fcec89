import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { ExecServerClient } from '../../../src/client/index.ts';
import { runPlainEnvironment, viaPlainRelay } from '../../../src/relay/remote/index.ts';
import { type FrameFault, HostileNetwork } from '../../relay/hostile-network.ts';
import type { Carrier } from '../../relay/memory-transport.ts';
import { sha256 } from '../../support/digest.ts';
import { type FrameDirection, FrameProxy, unreliable } from '../../support/frame-proxy.ts';
import { TestEnvironment } from '../../support/remote-fixture.ts';
import { ScriptedRegistry } from '../../support/scripted-registry.ts';
import { randomFrom } from '../../support/seeded.ts';
import { echo } from './faults-fixture.ts';

const everyDirection: readonly FrameDirection[] = ['from harness', 'to environment', 'from environment', 'to harness'];

/** An environment and a harness of ours on the plain relay, over a network that can be told what to do. */
async function meetPlainly(scope: Scope) {
  const network = scope.own(await FrameProxy.start());
  const registry = scope.own(await ScriptedRegistry.start());
  registry.keepsStreams = true;
  network.leadTo(registry.url);
  const address = (role: string): string => `${network.url.replace('http', 'ws')}/ws?role=${role}`;
  registry.script = () => ({ body: { environment_id: 'env', url: address('environment') } });
  const environment = scope.own(new TestEnvironment(network, {}, runPlainEnvironment));
  await registry.connected();
  const client = scope.own(await ExecServerClient.connect(viaPlainRelay(address('harness'))));
  const streams = (): string[] => environment.log.filter((line) => line.includes('relay.stream_opened'));
  return { network, client, streams };
}

/** Many small messages each direction, because a megabyte at once is only a few frames. */
async function echoInPieces(client: ExecServerClient, bytes: Uint8Array): Promise<string> {
  const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });
  const writing = (async () => {
    for (let at = 0; at < bytes.length; at += 40_000) await process.write(bytes.subarray(at, at + 40_000));
    await process.closeStdin();
  })();
  const seen: Uint8Array[] = [];
  for await (const chunk of process.output) seen.push(chunk.bytes);
  await writing;
  return sha256(Buffer.concat(seen));
}

describe('the plain relay between two ends of ours', () => {
  it('agrees on acknowledged delivery', async () => {
    await using scope = new Scope();
    const { streams } = await meetPlainly(scope);

    expect(streams().map((line) => JSON.parse(line).reliable)).toEqual([true]);
  });

  it.each([
    ['dropped', (at: number): FrameFault => ({ type: at % 7 === 3 ? 'drop' : 'pass' })],
    ['repeated', (): FrameFault => ({ type: 'duplicate' })],
    ['overtaken', (at: number): FrameFault => (at % 5 === 2 ? { type: 'delay', by: 4 } : { type: 'pass' })],
  ])('carries a megabyte each direction although frames are %s', async (_, fault) => {
    await using scope = new Scope();
    const { network, client, streams } = await meetPlainly(scope);
    for (const direction of everyDirection) {
      network.data[direction] = new HostileNetwork(Array.from({ length: 1000 }, (_, at) => fault(at))).carry;
    }
    const bytes = randomBytes(1_000_000);

    expect(await echo(client, bytes)).toBe(sha256(bytes));
    expect(await echoInPieces(client, bytes)).toBe(sha256(bytes));
    expect(streams()).toHaveLength(1);
  });

  it('carries a megabyte each direction although frames are dropped, repeated and overtaken at random', async () => {
    await using scope = new Scope();
    const { network, client, streams } = await meetPlainly(scope);
    for (const [at, direction] of everyDirection.entries()) {
      const bad = new HostileNetwork(unreliable(randomFrom(at), 3, 10)).carry;
      const twice: Carrier = (frame, deliver) => {
        bad(frame, deliver);
        bad(frame, deliver);
      };
      network.data[direction] = twice;
    }
    const bytes = randomBytes(1_000_000);

    expect(await echoInPieces(client, bytes)).toBe(sha256(bytes));
    expect(streams()).toHaveLength(1);
  });

  it.each(['harness', 'environment', 'both'] as const)(
    'carries a megabyte each direction over one stream although %s lose the socket in the middle',
    async (side) => {
      await using scope = new Scope();
      const { network, client, streams } = await meetPlainly(scope);
      let carried = 0;
      network.data['to harness'] = (frame, deliver) => {
        if (++carried === 12) network.cut(side === 'both' ? undefined : side);
        deliver(frame);
      };
      const bytes = randomBytes(1_000_000);

      expect(await echoInPieces(client, bytes)).toBe(sha256(bytes));
      expect(carried).toBeGreaterThan(12);
      expect(streams()).toHaveLength(1);
    },
  );
});
