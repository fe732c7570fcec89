import { type Scope, silentLogger } from '../../src/base/index.ts';
import { ExecServerClient } from '../../src/client/index.ts';
import { bearerToken, type RemoteExecServerConnectArgs, viaRegistry } from '../../src/remote/index.ts';
import {
  AccessTokens,
  AuditLog,
  freshTokens,
  type RendezvousLimits,
  RendezvousService,
  SigningKeys,
} from '../../src/rendezvous/index.ts';
import { FrameProxy } from '../support/frame-proxy.ts';
import { TestEnvironment } from '../support/remote-fixture.ts';

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
  const { shown, tokens } = freshTokens();
  const service = scope.own(
    await RendezvousService.start({
      host: '127.0.0.1',
      port: 0,
      publicUrl: url,
      verifier: new AccessTokens(tokens),
      keys: SigningKeys.random(),
      audit: scope.own(new AuditLog(silentLogger, undefined)),
      log: silentLogger,
      limits,
    }),
  );
  network.leadTo(service.url);
  const environment = scope.own(new TestEnvironment({ url }, { credentials: bearerToken(shown.executor) }));
  return {
    network,
    environment,
    registryUrl: url,
    tokens: shown,
    connect: async (args = {}) => {
      const route = { registryUrl: url, environmentId: 'env', credentials: bearerToken(shown.harness), reliable };
      return scope.own(await ExecServerClient.connect(viaRegistry({ ...route, ...args })));
    },
    streams: () => environment.log.filter((line) => line.includes('relay.stream_opened')).length,
  };
}
