import { onTestFinished } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { ExecServerClient } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { startServer } from '../../support/server.ts';
import { meet } from '../relay/faults-fixture.ts';

/** The ways to reach a server of our own; each opens one, which ends with the test. */
export const reaches: readonly { readonly way: string; readonly reach: () => Promise<ExecServerClient> }[] = [
  {
    way: 'directly',
    reach: async () => {
      const scope = scopeOfTest();
      const server = scope.own(await startServer());
      return scope.own(await ExecServerClient.connect(webSocket(server.url)));
    },
  },
  {
    way: 'through the relay',
    reach: async () => (await meet(scopeOfTest(), { reliable: true })).connect(),
  },
];

function scopeOfTest(): Scope {
  const scope = new Scope();
  onTestFinished(() => scope[Symbol.asyncDispose]());
  return scope;
}
