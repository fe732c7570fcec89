import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Scope } from '../../src/base/index.ts';
import { referenceBinary } from '../support/reference.ts';
import { Balancer, NatsServers, Nodes } from '../system/rendezvous/cluster-fixture.ts';
import { startCodex } from './start-codex.ts';
import { untilFile, Workspace } from './workspace.ts';

/** The real client and the real executor, on different nodes of our rendezvous. */
async function start(scope: Scope) {
  const nats = scope.own(await NatsServers.start(3));
  const balancer = scope.own(await Balancer.start());
  const nodes = scope.own(new Nodes(nats));
  const node = async () => {
    const spawned = await nodes.spawn(['--public-url', balancer.url]);
    balancer.add(spawned);
    return spawned;
  };
  const [ofEnvironment, ofHarness] = [await node(), await node()];
  const workspace = scope.own(await Workspace.make());
  const executor = spawn(
    await referenceBinary(),
    ['exec-server', '--remote', balancer.url, '--environment-id', 'box'],
    {
      env: workspace.env({ CODEX_HOME: workspace.serverHome, CODEX_API_KEY: nodes.tokens.executor }),
      cwd: workspace.root,
      stdio: 'ignore',
    },
  );
  scope.defer(async () => {
    executor.kill('SIGKILL');
    if (executor.exitCode === null && executor.signalCode === null) await once(executor, 'exit');
  });
  while ((await ofHarness.connect('box')).status !== 200);
  const variables = {
    CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: balancer.url,
    CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: 'box',
    CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: nodes.tokens.harness,
  };
  const { codex, model } = await startCodex(scope, workspace, variables, 90_000);
  return { ofEnvironment, ofHarness, workspace, model, codex };
}

describe('the real client and the real executor on different nodes', () => {
  it('work together', async () => {
    await using scope = new Scope();
    const { model, codex } = await start(scope);

    const small = await model.exec('echo here; exit 3');
    const large = await model.exec('seq 1 60000', { max_output_tokens: 50 });
    await model.say('done');
    await codex.turnCompleted();

    expect([small.exitCode, small.output]).toEqual([3, 'here\n']);
    expect([large.exitCode, large.output.trimEnd().endsWith('59999\n60000')]).toEqual([0, true]);
  });

  it.each(['ofEnvironment', 'ofHarness'] as const)('lose no output when the node %s is killed', async (victim) => {
    await using scope = new Scope();
    const { model, codex, workspace, ...nodes } = await start(scope);

    // The answer says that the client knows of its command: a start that is lost on the way is not repeated.
    const first = await model.exec(`echo one; ${untilFile('killed')}; echo two; sleep 4; echo three`, {
      yield_time_ms: 1000,
    });
    nodes[victim].child.kill('SIGKILL');
    await workspace.write('killed', '');
    const rest = await model.stdin(first.sessionId!, '', 25_000);

    expect([first.output, rest.output]).toEqual(['one\n', 'two\nthree\n']);
    await model.say('done');
    await codex.turnCompleted();
  });
});
