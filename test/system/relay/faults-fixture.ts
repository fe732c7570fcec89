import { type Clock, type Scope, systemClock } from '../../../src/base/index.ts';
import { ExecServerClient } from '../../../src/client/index.ts';
import { bearerToken, type RemoteExecServerConnectArgs, viaRegistry } from '../../../src/relay/remote/index.ts';
import type { RendezvousLimits } from '../../../src/relay/rendezvous/index.ts';
import { sha256 } from '../../support/digest.ts';
import { FrameProxy } from '../../support/frame-proxy.ts';
import { TestEnvironment } from '../../support/remote-fixture.ts';
import { startRendezvous } from '../rendezvous/fixture.ts';

export interface Meeting {
  readonly network: FrameProxy;
  readonly environment: TestEnvironment;
  readonly registryUrl: string;
  readonly tokens: Readonly<Record<'executor' | 'harness', string>>;
  /** A harness of its own, with its own key. */
  connect(args?: Partial<RemoteExecServerConnectArgs>): Promise<ExecServerClient>;
  /** How often a stream was opened so far: more than once per harness means that one was lost. */
  streams(): number;
}

/** An environment and harnesses of ours that meet at our rendezvous, over a network that can be told what to do. */
export async function meet(
  scope: Scope,
  { reliable, limits = {} }: { reliable: boolean; limits?: Partial<RendezvousLimits> },
): Promise<Meeting> {
  const network = scope.own(await FrameProxy.start());
  const { url } = network;
  const service = scope.own(await startRendezvous({ publicUrl: url, limits }));
  const { tokens } = service;
  network.leadTo(service.url);
  const environment = scope.own(new TestEnvironment({ url }, { credentials: bearerToken(tokens.executor) }));
  return {
    network,
    environment,
    registryUrl: url,
    tokens,
    connect: async (args = {}) => {
      const route = { registryUrl: url, environmentId: 'env', credentials: bearerToken(tokens.harness), reliable };
      return scope.own(await ExecServerClient.connect(viaRegistry({ ...route, ...args })));
    },
    streams: () => environment.log.filter((line) => line.includes('relay.stream_opened')).length,
  };
}

/** Sends bytes to the environment and back; the digest of what came. */
export async function echo(client: ExecServerClient, bytes: Uint8Array): Promise<string> {
  const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });
  return sha256((await process.communicate(bytes)).stdout);
}

/** Waits, but only a fifth of the time. */
export const hurried: Clock = {
  ...systemClock,
  random: () => 0,
  sleep: (ms, signal) => systemClock.sleep(ms / 5, signal),
};
