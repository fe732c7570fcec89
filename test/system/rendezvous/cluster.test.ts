import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NatsServers, Nodes } from './cluster-fixture.ts';
import { Endpoint, establish, type RegistryCaller, randomKey } from './fixture.ts';

const reset = (streamId: string, reason: string) => ({ streamId, type: 'reset', reason });

/** A URL of one node as another node would have signed it: a load balancer may send it to any. */
const at = (node: RegistryCaller, url: string): string => url.replace(/^ws:\/\/[^/]+/, node.url.replace('http', 'ws'));

/** Environments are told apart by tests, because the servers are shared. */
let count = 0;
const freshId = (): string => `env-${count++}`;

let nats: NatsServers;
beforeAll(async () => {
  nats = await NatsServers.start(3);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** Asks until the environment is known to be connected. */
async function online(node: RegistryCaller, environmentId: string): Promise<void> {
  while ((await node.connect(environmentId)).status !== 200);
}

async function offline(node: RegistryCaller, environmentId: string): Promise<void> {
  while ((await node.connect(environmentId)).status !== 409);
}

describe('several nodes', () => {
  it('let a harness on one talk to an environment on another', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.start(), await nodes.start()];
    const id = freshId();
    await using environment = await one.environment(id);
    await online(two, id);
    await using harness = await two.harness(id);
    const stream = await establish(harness, environment);
    const chunk = 'x'.repeat(60_000);
    const frames = 200; // more than a window
    const seqs = Array.from({ length: frames }, (_, seq) => seq);
    for (const seq of seqs) {
      harness.data(stream, seq, chunk);
      environment.data(stream, seq, chunk);
    }

    expect((await environment.take(frames)).map(({ seq }) => seq)).toEqual(seqs);
    expect((await harness.take(frames)).map(({ seq }) => seq)).toEqual(seqs);
  });

  it('know the same registrations, and validate an authorization once between them', async () => {
    await using nodes = new Nodes(nats);
    const [one, two, three] = [await nodes.start(), await nodes.start(), await nodes.start()];
    const id = freshId();
    const { body } = await one.register(id);
    await using _environment = await Endpoint.open(at(two, body.url!));
    await online(three, id);
    const key = randomKey();
    const bundle = (await three.connect(id, key)).body;
    await using _harness = await Endpoint.open(at(one, bundle.url!));

    expect(await Endpoint.refusal(at(two, bundle.url!))).toBe(401);
    const verdicts = await Promise.all([one, two, three].map((node) => node.validate(id, bundle, key)));
    expect(verdicts.map((verdict) => (verdict as { valid: boolean }).valid).sort()).toEqual([false, false, true]);
  });

  it('tell each other at once when a harness or an environment leaves', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.start(), await nodes.start()];
    const id = freshId();
    await using environment = await one.environment(id);
    await online(two, id);
    await using first = await two.harness(id);
    await using second = await two.harness(id);
    const [left, lost] = [await establish(first, environment), await establish(second, environment)];

    first.ws.terminate();
    expect(await environment.next()).toEqual(reset(left, 'harness_disconnected'));
    environment.ws.terminate();
    expect(await second.next()).toEqual(reset(lost, 'environment_offline'));
    await offline(two, id);
  });

  it('move an environment that connects to another node, and its harnesses with it', async () => {
    await using nodes = new Nodes(nats);
    const [one, two, three] = [await nodes.start(), await nodes.start(), await nodes.start()];
    const id = freshId();
    await using before = await one.environment(id);
    await online(three, id);
    await using harness = await three.harness(id);
    const stream = await establish(harness, before);

    await using after = await Endpoint.open(at(two, before.registration.body.url!));

    expect(await before.closed).toBe(4409);
    expect(await harness.next()).toEqual(reset(stream, 'environment_offline'));
    const { body } = await three.connect(id);
    await using again = await Endpoint.open(at(three, body.url!));
    await establish(again, after);
  });

  it('agree on the executor that has an environment, of many', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.start(), await nodes.start()];
    const id = freshId();
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => (n % 2 ? one : two).register(id)));
    const urls = answers.filter(({ status }) => status === 200).map(({ body }) => body.url!);
    const opened: string[] = [];
    for (const url of urls) if ((await Endpoint.refusal(at(two, url))) === 101) opened.push(url);

    expect(opened).toHaveLength(1);
  });

  it('count together how often an environment changes its owner', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.start(), await nodes.start()];
    const id = freshId();
    const statuses: number[] = [];
    for (const node of [one, two, one, two, one, two]) statuses.push((await node.register(id)).status);

    expect(statuses).toEqual([200, 200, 200, 200, 409, 409]);
  });

  it('remove a registration everywhere', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.start(), await nodes.start()];
    const id = freshId();
    await using environment = await one.environment(id);
    await online(two, id);

    expect((await two.ask(`/v1/environments/${id}`, 'DELETE')).status).toBe(204);

    expect(await environment.closed).toBe(4410);
    await using _again = await two.environment(id);
    await online(one, id);
  });

  it('hold what a slow harness has not taken on the node of the environment, and lose nothing', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.start(), await nodes.start()];
    const id = freshId();
    await using environment = await one.environment(id);
    await online(two, id);
    await using slow = await two.harness(id);
    await using other = await two.harness(id);
    const stream = await establish(slow, environment);
    slow.ws.pause();
    const frames = 400;
    const chunk = 'x'.repeat(60_000);
    for (let seq = 0; seq < frames; seq++) environment.data(stream, seq, chunk);
    await establish(other, environment);

    const queued = async (node: RegistryCaller): Promise<number> =>
      Number(/^rendezvous_queued_bytes (\d+)$/m.exec((await node.ask('/metrics')).body.text!)?.[1]);
    expect(await queued(one)).toBeGreaterThan(1_000_000);
    expect(await queued(two)).toBe(0);
    slow.ws.resume();
    const received = await slow.take(frames);
    expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: frames }, (_, seq) => seq));
  });
});
