import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Logger, Scope, silentLogger } from '../../../src/base/index.ts';
import { ExecServerClient } from '../../../src/client/index.ts';
import { Outgoing } from '../../../src/host/http/index.ts';
import {
  generateRelayKeys,
  openHarnessStream,
  parsePublicKeyObject,
  publicKeyObject,
} from '../../../src/relay/index.ts';
import { bearerToken, viaRegistry } from '../../../src/relay/remote/index.ts';
import { openRendezvousSocket } from '../../../src/relay/remote/rendezvous-socket.ts';
import { numbersTo, sha256 } from '../../support/digest.ts';
import { InstantClock, TestEnvironment } from '../../support/remote-fixture.ts';
import { startRendezvous, type TestRendezvous } from '../rendezvous/fixture.ts';
import { echo, hurried, meet } from './faults-fixture.ts';

async function print(client: ExecServerClient, numbers: number): Promise<string> {
  const process = await client.start({ argv: ['seq', '1', `${numbers}`] });
  const seen: Uint8Array[] = [];
  for await (const { bytes } of process.output) seen.push(bytes);
  return sha256(Buffer.concat(seen));
}

describe('128 streams', () => {
  it('are served at once, and the environment refuses another until one is over', async () => {
    await using scope = new Scope();
    const limits = { streamsPerEnvironment: 1000, socketsPerSecond: 1000 }; // the rendezvous would refuse it, too
    const { connect } = await meet(scope, { reliable: true, limits });
    const clients: ExecServerClient[] = [];
    while (clients.length < 128) clients.push(...(await Promise.all(Array.from({ length: 4 }, () => connect()))));

    const clock = new InstantClock();
    await expect(connect({ clock })).rejects.toThrow('refused the stream');
    const digests = await Promise.all(clients.map((client) => print(client, 1000)));
    expect(new Set(digests)).toEqual(new Set([sha256(numbersTo(1000))]));

    await clients[0]!.close();
    expect(await print(await connect(), 1000)).toBe(sha256(numbersTo(1000)));
  }, 180_000); // so many handshakes take a while on a busy machine
});

describe('a slow harness beside a fast one', () => {
  it.each([true, false])('costs no other stream anything, with acknowledged delivery: %s', async (reliable) => {
    await using scope = new Scope();
    const { network, connect } = await meet(scope, { reliable });
    const [slow, fast] = [await connect(), await connect()];
    const release = network.stallFirstHarness();

    const held = print(slow, 1_500_000); // 11 MB, more than the sockets take by themselves
    expect(await print(fast, 300_000)).toBe(sha256(numbersTo(300_000)));
    release();

    expect(await held).toBe(sha256(numbersTo(1_500_000)));
  });
});

describe('an authorization', () => {
  const keys = generateRelayKeys();
  const executor = async (rendezvous: TestRendezvous, scope: Scope): Promise<TestEnvironment> => {
    const credentials = bearerToken(rendezvous.tokens.executor);
    const environment = scope.own(new TestEnvironment(rendezvous, { credentials }));
    while ((await rendezvous.connect('env')).status !== 200);
    return environment;
  };
  const bundleOf = async (rendezvous: TestRendezvous) =>
    (await rendezvous.connect('env', publicKeyObject(keys))).body as Record<string, unknown>;
  const open = async (scope: Scope, { url, ...bundle }: Record<string, unknown>): Promise<void> => {
    const { signal } = new AbortController();
    const link = await openHarnessStream(
      await openRendezvousSocket(url as string, { onText: 'disconnect', outgoing: Outgoing.direct }, signal),
      {
        keys,
        environmentId: 'env',
        registrationId: bundle.executor_registration_id as string,
        executorKey: parsePublicKeyObject(bundle.executor_public_key),
        authorization: bundle.harness_key_authorization as string,
        signal,
      },
    );
    scope.defer(() => link.destroy());
  };

  it('opens one stream, and no other', async () => {
    await using scope = new Scope();
    const rendezvous = scope.own(await startRendezvous());
    await executor(rendezvous, scope);
    const { url: _used, ...used } = await bundleOf(rendezvous);
    await open(scope, { ...used, url: (await bundleOf(rendezvous)).url });

    const again = open(scope, { ...used, url: (await bundleOf(rendezvous)).url });

    await expect(again).rejects.toThrow('refused the stream');
  });

  it('opens nothing after two minutes', async () => {
    await using scope = new Scope();
    let now = Date.now();
    const rendezvous = scope.own(await startRendezvous({ now: () => now }));
    const environment = await executor(rendezvous, scope);
    const old = await bundleOf(rendezvous);
    now += 122_000;

    const late = open(scope, { ...old, url: (await bundleOf(rendezvous)).url });

    await expect(late).rejects.toThrow('refused the stream');
    expect(environment.log.join()).toContain('the registry does not vouch for the harness');
  });
});

describe('two executors with one name', () => {
  it('come to rest, and one of them serves', async () => {
    await using scope = new Scope();
    const rendezvous = scope.own(await startRendezvous());
    let refused = (): void => {};
    const atRest = new Promise<void>((resolve) => {
      refused = resolve;
    });
    const note = (event: string): void => {
      if (event === 'environment.registration_failed') refused();
    };
    const log: Logger = { ...silentLogger, warn: note, with: () => log };
    const credentials = bearerToken(rendezvous.tokens.executor);
    for (let executors = 0; executors < 2; executors++) {
      scope.own(new TestEnvironment(rendezvous, { credentials, clock: hurried, log }));
    }
    await atRest;

    const harness = { registryUrl: rendezvous.url, environmentId: 'env', clock: hurried };
    const route = viaRegistry({ ...harness, credentials: bearerToken(rendezvous.tokens.harness) });
    const client = scope.own(await ExecServerClient.connect(route));
    const bytes = randomBytes(500_000);

    expect(await echo(client, bytes)).toBe(sha256(bytes));
  });
});
