import { describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { ExecServerClient } from '../../../src/client/index.ts';
import { bearerToken, viaRegistry } from '../../../src/relay/remote/index.ts';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { numbersTo, sha256 } from '../../support/digest.ts';
import { TestEnvironment } from '../../support/remote-fixture.ts';
import { startRendezvous } from '../rendezvous/fixture.ts';

/** An environment and a harness that meet at our rendezvous, over a network that can be cut. */
async function meet(scope: Scope, reliable: boolean) {
  const network = scope.own(await CuttableProxy.start('ws://127.0.0.1:1'));
  const url = network.url.replace('ws:', 'http:');
  const service = scope.own(await startRendezvous({ publicUrl: url }));
  network.retarget(service.url);
  scope.own(new TestEnvironment({ url }, { credentials: bearerToken(service.tokens.executor) }));
  const credentials = bearerToken(service.tokens.harness);
  const route = viaRegistry({ registryUrl: url, environmentId: 'env', credentials, reliable });
  const client = scope.own(await ExecServerClient.connect(route));
  return { network, client };
}

describe('a network that breaks again and again', () => {
  it.each([true, false])('loses nothing of a long output, with acknowledged delivery: %s', async (reliable) => {
    await using scope = new Scope();
    const { network, client } = await meet(scope, reliable);
    // Without acknowledgements lost output is read again from the server, which keeps a bounded part of it.
    const lines = reliable ? 300_000 : 100_000;
    const wanted = numbersTo(lines);
    network.cutAfter(200_000);

    const process = await client.start({ argv: ['seq', '1', String(lines)] });
    const seen: Uint8Array[] = [];
    let cuts = 1;
    let bytes = 0;
    for await (const chunk of process.output) {
      seen.push(chunk.bytes);
      bytes += chunk.bytes.length;
      if (cuts < 4 && bytes > (cuts * wanted.length) / 5) {
        cuts++;
        network.cut();
      }
    }

    expect(cuts).toBe(4);
    expect(sha256(Buffer.concat(seen))).toBe(sha256(wanted));
  });

  it('carries on with what is typed meanwhile', async () => {
    await using scope = new Scope();
    const { network, client } = await meet(scope, true);
    const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });

    for (let n = 0; n < 3; n++) {
      await process.write(Buffer.from(`line ${n}\n`));
      network.cut();
    }
    const { stdout, exitCode } = await process.communicate(Buffer.from('end\n'));

    expect([Buffer.from(stdout).toString(), exitCode]).toEqual(['line 0\nline 1\nline 2\nend\n', 0]);
  });
});
