import { onTestFinished } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import type { ExecServerClient } from '../../../src/client/index.ts';
import { connect } from '../../support/client-specification.ts';
import { CuttableProxy } from '../../support/cuttable-proxy.ts';
import { startServer } from '../../support/server.ts';
import { meet } from '../relay/faults-fixture.ts';

export interface Reached {
  readonly client: ExecServerClient;
  /** Breaks the connections between the client and its server. */
  cut(): void;
}

/** The ways to reach a server of our own; each opens one, which ends with the test. */
export const reaches: readonly { readonly way: string; readonly reach: () => Promise<Reached> }[] = [
  {
    way: 'directly',
    reach: async () => {
      const scope = scopeOfTest();
      const server = scope.own(await startServer());
      const proxy = scope.own(await CuttableProxy.start(server.url));
      const client = scope.own(await connect(proxy.url, { resumeIntervalMs: 5 }));
      return { client, cut: () => proxy.cut() };
    },
  },
  {
    way: 'through the relay',
    reach: async () => {
      const { network, connect: join } = await meet(scopeOfTest(), { reliable: true });
      return { client: await join(), cut: () => network.cut('harness') };
    },
  },
];

function scopeOfTest(): Scope {
  const scope = new Scope();
  onTestFinished(() => scope[Symbol.asyncDispose]());
  return scope;
}
