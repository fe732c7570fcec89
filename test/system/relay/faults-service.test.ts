import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Scope } from '../../../src/base/index.ts';
import { ExecServerClient, type RemoteProcess } from '../../../src/client/index.ts';
import { bearerToken, viaRegistry } from '../../../src/relay/remote/index.ts';
import { freshTokens } from '../../../src/relay/rendezvous/index.ts';
import { numbersTo, sha256 } from '../../support/digest.ts';
import { TestEnvironment } from '../../support/remote-fixture.ts';
import { BackgroundProgram } from '../../support/remote-programs.ts';
import { Balancer, NatsServers, Nodes } from '../rendezvous/cluster-fixture.ts';
import { hurried } from './faults-fixture.ts';

interface Place {
  readonly url: string;
  readonly tokens: Readonly<Record<'executor' | 'harness', string>>;
}

/** An environment and a harness of ours at a service; nothing of theirs is in the programs that are killed. */
async function meetAt(scope: Scope, { url, tokens }: Place, reliable: boolean): Promise<ExecServerClient> {
  const environmentId = randomUUID(); // executors that take a name from each other too often are refused
  const executor = { environmentId, credentials: bearerToken(tokens.executor), clock: hurried };
  scope.own(new TestEnvironment({ url }, executor));
  const credentials = bearerToken(tokens.harness);
  const route = viaRegistry({ registryUrl: url, environmentId, credentials, reliable, clock: hurried });
  return scope.own(await ExecServerClient.connect(route));
}

/** Goes on through the failure; of what is lost with a stream an environment keeps 1 MiB, and this is half of it. */
const script = 'for part in 1 2 3 4 5 6 7 8 9 10; do seq 1 10000; sleep 0.1; done';
const wanted = sha256(Buffer.concat(Array.from({ length: 10 }, () => numbersTo(10_000))));
const start = (client: ExecServerClient): Promise<RemoteProcess> => client.start({ argv: ['sh', '-c', script] });

/** Takes all output; something happens when the first of it is here. */
async function digestAcross(process: RemoteProcess, happening: () => unknown): Promise<string> {
  const seen: Uint8Array[] = [];
  for await (const { bytes } of process.output) {
    if (seen.push(bytes) === 1) await happening();
  }
  return sha256(Buffer.concat(seen));
}

/** A rendezvous that is alone, with an address and tokens that outlive it. */
class LoneRendezvous implements AsyncDisposable {
  readonly tokens: Place['tokens'];
  readonly url: string;
  readonly #file: string;
  #running: BackgroundProgram;

  private constructor(tokens: Place['tokens'], file: string, url: string, running: BackgroundProgram) {
    this.tokens = tokens;
    this.#file = file;
    this.url = url;
    this.#running = running;
  }

  static async start(scope: Scope): Promise<LoneRendezvous> {
    const folder = await mkdtemp(join(tmpdir(), 'exec-server-rendezvous-'));
    scope.defer(() => rm(folder, { recursive: true }));
    const { shown, tokens } = freshTokens();
    const file = join(folder, 'tokens.json');
    await writeFile(file, JSON.stringify({ tokens }));
    const running = run('http://127.0.0.1:0', file);
    return scope.own(new LoneRendezvous(shown, file, await running.line(), running));
  }

  async killAndRestart(): Promise<void> {
    await this.#running.stop('SIGKILL');
    this.#running = run(this.url, this.#file);
    await this.#running.line();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.stop();
  }
}

const run = (url: string, tokensFile: string): BackgroundProgram =>
  new BackgroundProgram({ args: ['rendezvous', '--listen', url, '--tokens-file', tokensFile] });

describe('a rendezvous that is killed and started again', () => {
  it.each([true, false])('costs no output and no input, with acknowledged delivery: %s', async (reliable) => {
    await using scope = new Scope();
    const rendezvous = await LoneRendezvous.start(scope);
    const client = await meetAt(scope, rendezvous, reliable);
    const cat = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });
    await cat.write(Buffer.from('before '));
    const { sessionId } = client;

    expect(await digestAcross(await start(client), () => rendezvous.killAndRestart())).toBe(wanted);

    const { stdout } = await cat.communicate(Buffer.from('after'));
    expect([Buffer.from(stdout).toString(), client.sessionId]).toEqual(['before after', sessionId]);
  });
});

describe('a cluster', () => {
  let nats: NatsServers;
  beforeAll(async () => {
    nats = await NatsServers.start(3);
  });
  afterAll(() => nats[Symbol.asyncDispose]());

  /** Two nodes behind one address: that of the environment, and that of the harness. */
  async function twoNodes(scope: Scope) {
    const balancer = scope.own(await Balancer.start());
    const nodes = scope.own(new Nodes(nats));
    const spawned = async () => {
      const node = await nodes.spawn(['--public-url', balancer.url]);
      balancer.add(node);
      return node;
    };
    const [ofEnvironment, ofHarness] = [await spawned(), await spawned()];
    return { ofEnvironment, ofHarness, url: balancer.url, tokens: nodes.tokens };
  }

  it.each([
    ['ofEnvironment', true],
    ['ofEnvironment', false],
    ['ofHarness', true],
    ['ofHarness', false],
  ] as const)('loses no output with the node %s, with acknowledged delivery: %s', async (victim, reliable) => {
    await using scope = new Scope();
    const cluster = await twoNodes(scope);
    const client = await meetAt(scope, cluster, reliable);

    const kill = () => cluster[victim].child.kill('SIGKILL');
    expect(await digestAcross(await start(client), kill)).toBe(wanted);
    expect(await digestAcross(await start(client), () => {})).toBe(wanted); // over the node that is left
  });

  it.each([true, false])('loses no output with a NATS server, with acknowledged delivery: %s', async (reliable) => {
    await using scope = new Scope();
    const client = await meetAt(scope, await twoNodes(scope), reliable);
    scope.defer(() => nats.restart(0));

    expect(await digestAcross(await start(client), () => nats.kill(0))).toBe(wanted);
    expect(await digestAcross(await start(client), () => {})).toBe(wanted); // over the servers that are left
  });
});
