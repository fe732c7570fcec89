import type { Scope } from '../../src/base/index.ts';
import type { ExecServerClient } from '../../src/client/index.ts';
import { RunningRendezvous } from '../../test/support/remote-programs.ts';
import { NatsServers, Nodes } from '../../test/system/rendezvous/cluster-fixture.ts';
import { connectDirectly, connectThrough, type Executor } from './executors.ts';

/** A way from harness to executor. */
export interface Path {
  readonly name: string;
  connect(scope: Scope, executor: Executor): Promise<ExecServerClient>;
}

/** The ways that are compared, with the services they need. */
export async function openPaths(scope: Scope): Promise<Path[]> {
  const lone = scope.own(await RunningRendezvous.start());
  const alone = {
    executorUrl: lone.url,
    harnessUrl: lone.url,
    tokens: { executor: lone.token('executor'), harness: lone.token('harness') },
  };
  const nodes = scope.own(new Nodes(scope.own(await NatsServers.start(1))));
  const [one, two] = [await nodes.spawn(), await nodes.spawn()];
  const apart = { executorUrl: one.url, harnessUrl: two.url, tokens: nodes.tokens };
  return [
    { name: 'direct websocket', connect: connectDirectly },
    { name: 'one node', connect: (own, executor) => connectThrough(own, alone, executor) },
    { name: 'two nodes and NATS', connect: (own, executor) => connectThrough(own, apart, executor) },
  ];
}
