import { describe, expect, it } from 'vitest';
import { Scope } from '../../src/base/index.ts';
import { decodeFrame } from '../../src/relay/index.ts';
import { runPlainEnvironment } from '../../src/relay/remote/index.ts';
import { runCommand } from '../support/command.ts';
import { numbersTo, sha256 } from '../support/digest.ts';
import { FrameProxy } from '../support/frame-proxy.ts';
import { referenceBinary } from '../support/reference.ts';
import { TestEnvironment } from '../support/remote-fixture.ts';
import { BackgroundProgram, RunningRendezvous } from '../support/remote-programs.ts';
import { ScriptedRegistry } from '../support/scripted-registry.ts';
import { startCodex } from './start-codex.ts';
import { untilFile, Workspace } from './workspace.ts';

/** Variables that send the real client through our registry. */
const through = (rendezvous: RunningRendezvous): Record<string, string> => ({
  CODEX_EXEC_SERVER_NOISE_REGISTRY_URL: rendezvous.url,
  CODEX_EXEC_SERVER_NOISE_ENVIRONMENT_ID: 'box',
  ...rendezvous.harness,
});

const realEnvironment = async (workspace: Workspace, rendezvous: RunningRendezvous): Promise<BackgroundProgram> =>
  new BackgroundProgram({
    command: [await referenceBinary(), 'exec-server'],
    args: ['--remote', rendezvous.url, '--environment-id', 'box'],
    env: workspace.env({ CODEX_HOME: workspace.serverHome, CODEX_API_KEY: rendezvous.token('executor') }),
    cwd: workspace.root,
  });

describe('through our rendezvous', () => {
  it('the real client runs commands in our environment', async () => {
    await using scope = new Scope();
    const workspace = scope.own(await Workspace.make());
    const rendezvous = scope.own(await RunningRendezvous.start());
    scope.own(await rendezvous.environment('box'));
    const { codex, model } = await startCodex(scope, workspace, through(rendezvous));

    const small = await model.exec('echo here; pwd; exit 3');
    const large = await model.exec('seq 1 60000', { max_output_tokens: 50 });
    await model.say('done');
    await codex.turnCompleted();

    expect([small.exitCode, small.output]).toEqual([3, `here\n${workspace.cwd}\n`]);
    expect([large.exitCode, large.output.trimEnd().endsWith('59999\n60000')]).toEqual([0, true]);
  });

  it('the real client loses no output when its environment has to register anew', async () => {
    await using scope = new Scope();
    const workspace = scope.own(await Workspace.make());
    const rendezvous = scope.own(await RunningRendezvous.start());
    scope.own(await rendezvous.environment('box'));
    const { codex, model, signal } = await startCodex(scope, workspace, through(rendezvous));

    const running = model.exec(`echo one; touch started; ${untilFile('cut')}; echo two; sleep 2; echo three`, {
      yield_time_ms: 20_000,
    });
    await workspace.appears('started', signal);
    await rendezvous.expel('box');
    await workspace.write('cut', '');

    expect((await running).output).toBe('one\ntwo\nthree\n');
    await model.say('done');
    await codex.turnCompleted();
  });

  it('our harness runs commands and copies files in the real environment', async () => {
    await using scope = new Scope();
    const workspace = scope.own(await Workspace.make());
    const rendezvous = scope.own(await RunningRendezvous.start());
    scope.own(await realEnvironment(workspace, rendezvous));
    const there = ['--remote', rendezvous.url, '--environment-id', 'box'];
    await workspace.write('sent.txt', 'to and fro');

    const ran = await runCommand(
      ['run', ...there, '--', 'sh', '-c', 'echo out; echo err >&2; exit 5'],
      rendezvous.harness,
    );
    const sent = `${workspace.cwd}/sent.txt`;
    const copied = await runCommand(['cp', ...there, sent, `env:${workspace.cwd}/got.txt`], rendezvous.harness);

    expect(ran).toEqual({ code: 5, stdout: 'out\n', stderr: 'err\n' });
    expect([copied.code, await workspace.read('got.txt')]).toEqual([0, 'to and fro']);
  });
});

describe('through a relay of the older kind', () => {
  /** The real client and an environment of ours; the output that the relay carries to the client is collected on the way. */
  async function meet(scope: Scope) {
    const workspace = scope.own(await Workspace.make());
    const registry = scope.own(await ScriptedRegistry.start());
    const network = scope.own(await FrameProxy.start());
    network.leadTo(registry.url);
    const address = (role: string): string => `${network.url.replace('http', 'ws')}/ws?role=${role}`;
    registry.script = () => ({ body: { environment_id: 'env', url: address('environment') } });
    const environment = scope.own(new TestEnvironment(network, {}, runPlainEnvironment));
    await registry.connected();
    const printed: Buffer[] = [];
    const kinds = new Set<string>();
    network.data['to harness'] = (frame, deliver) => {
      const { body, ack } = decodeFrame(frame, { segments: true });
      kinds.add(body.type === 'data' ? `segment ${body.segmentIndex} of ${body.segmentCount}, ack ${ack}` : body.type);
      if (body.type === 'data') {
        const { method, params } = JSON.parse(Buffer.from(body.payload).toString());
        if (method === 'process/output') printed.push(Buffer.from(params.chunk, 'base64'));
      }
      deliver(frame);
    };
    const { codex, model } = await startCodex(scope, workspace, { CODEX_EXEC_SERVER_URL: address('harness') });
    const opened = () => environment.log.filter((line) => line.includes('relay.stream_opened'));
    return { codex, model, printed, kinds, opened };
  }

  it('the real client runs commands in our environment', async () => {
    await using scope = new Scope();
    const { codex, model } = await meet(scope);

    const { exitCode, output } = await model.exec('echo here; exit 3');
    await model.say('done');
    await codex.turnCompleted();

    expect([exitCode, output]).toEqual([3, 'here\n']);
  });

  it('the real client runs a command that prints 10 MB, without acknowledgements', async () => {
    await using scope = new Scope();
    const { codex, model, printed, kinds, opened } = await meet(scope);

    const { exitCode, output } = await model.exec('seq 1 1450000', { yield_time_ms: 30_000, max_output_tokens: 50 });
    await model.say('done');
    await codex.turnCompleted();

    expect([exitCode, output.trimEnd().endsWith('1449999\n1450000')]).toEqual([0, true]);
    expect(Buffer.concat(printed).length).toBe(10_488_896);
    expect(sha256(Buffer.concat(printed))).toBe(sha256(numbersTo(1_450_000)));
    expect([...kinds]).toEqual(['segment 0 of 1, ack 0']);
    expect(opened().map((line) => JSON.parse(line).reliable)).toEqual([false]);
  });
});
