import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NatsServers, Nodes } from './cluster-fixture.ts';
import { type Answer, Endpoint, establish, establishReliable, type RegistryCaller, randomKey } from './fixture.ts';

const reset = (streamId: string, reason: string) => ({ streamId, type: 'reset', reason });
const at = (node: RegistryCaller, url: string): string => url.replace(/^ws:\/\/[^/]+/, node.url.replace('http', 'ws'));

let nats: NatsServers;
beforeAll(async () => {
  nats = await NatsServers.start(3);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** Asks again, as both ends do, until the service has recovered. */
async function opened(ask: () => Promise<Answer>): Promise<Endpoint> {
  for (;;) {
    const { status, body } = await ask();
    const endpoint = status === 200 ? await Endpoint.open(body.url!).catch(() => undefined) : undefined;
    if (endpoint) return endpoint;
  }
}

const connected = (node: RegistryCaller, environmentId: string, key = randomKey()): Promise<Endpoint> =>
  opened(() => node.connect(environmentId, key));
const registered = (node: RegistryCaller, environmentId: string): Promise<Endpoint> =>
  opened(() => node.register(environmentId));

describe('when a node is killed', () => {
  it('that had the environment, its harnesses elsewhere hear of it, also when they are idle', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.spawn(), await nodes.start({ pulseMs: 100 })];
    await using environment = await one.environment('killed-idle');
    await using harness = await connected(two, 'killed-idle');
    const stream = await establish(harness, environment);

    one.child.kill('SIGKILL');

    expect(await harness.next()).toEqual(reset(stream, 'environment_offline'));
    expect((await two.connect('killed-idle')).body.error?.code).toBe('environment_offline');
  });

  it('that had the environment, its harnesses elsewhere hear of it as soon as it is back', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.spawn(), await nodes.start({ pulseMs: 600_000, pulseSilenceMs: 600_000 })];
    await using before = await one.environment('killed-moved');
    await using harness = await connected(two, 'killed-moved');
    const stream = await establish(harness, before);
    one.child.kill('SIGKILL');
    await before.closed;

    await using after = await Endpoint.open(at(two, before.registration.body.url!));

    expect(await harness.next()).toEqual(reset(stream, 'environment_offline'));
    await establish(harness, after);
  });

  it('that had a harness, its environment hears of it before the harness is back on another node', async () => {
    await using nodes = new Nodes(nats);
    const slowPulse = { pulseMs: 600_000, pulseSilenceMs: 600_000 };
    const [one, two] = [await nodes.spawn(), await nodes.start(slowPulse)];
    await using environment = await two.environment('killed-harness');
    const key = randomKey();
    await using before = await connected(one, 'killed-harness', key);
    const stream = await establish(before, environment);
    one.child.kill('SIGKILL');
    await before.closed;

    await using after = await connected(two, 'killed-harness', key);
    const next = after.begin();

    expect(await environment.take(2)).toEqual([
      reset(stream, 'harness_disconnected'),
      { streamId: next, type: 'resume', nextSeq: 0 },
    ]);
  });

  it('that had a harness, its environment hears of it although the harness stays away', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.spawn(), await nodes.start({ pulseMs: 100 })];
    await using environment = await two.environment('killed-away');
    await using harness = await connected(one, 'killed-away');
    const stream = await establish(harness, environment);

    one.child.kill('SIGKILL');

    expect(await environment.next()).toEqual(reset(stream, 'harness_disconnected'));
  });

  it('a stream between reliable endpoints goes on over another', async () => {
    await using nodes = new Nodes(nats);
    const [one, two, three] = [await nodes.spawn(), await nodes.start(), await nodes.start()];
    await using before = await one.environment('killed-reliable');
    await using harness = await connected(two, 'killed-reliable');
    const stream = await establishReliable(harness, before);
    one.child.kill('SIGKILL');
    await before.closed;

    await using after = await Endpoint.open(at(three, before.registration.body.url!));
    const repeat = setInterval(() => after.send(stream, { type: 'resume', nextSeq: 5 }), 50); // as such an endpoint does
    try {
      expect(await harness.nextOf('resume')).toEqual({ streamId: stream, type: 'resume', nextSeq: 5 });
    } finally {
      clearInterval(repeat);
    }
    harness.data(stream, 9);
    expect(await after.nextOf('data')).toEqual({ streamId: stream, type: 'data', seq: 9, text: '9' });
  });
});

describe('when a node is stopped', () => {
  it('its sockets are closed with 1001 and the environment is offline', async () => {
    await using nodes = new Nodes(nats);
    const [one, two] = [await nodes.spawn(), await nodes.start()];
    await using environment = await one.environment('stopped');
    await using near = await connected(one, 'stopped');
    await using far = await connected(two, 'stopped');
    const [here, there] = [await establish(near, environment), await establish(far, environment)];

    one.child.kill('SIGTERM');

    expect([await near.next(), await far.next()]).toEqual([
      reset(here, 'environment_offline'),
      reset(there, 'environment_offline'),
    ]);
    expect([await environment.closed, await near.closed, await once(one.child, 'exit')]).toEqual([
      1001,
      1001,
      [0, null],
    ]);
    expect((await two.ask('/v1/environments')).body.environments).toContainEqual(
      expect.objectContaining({ environment_id: 'stopped', state: 'offline' }),
    );
  });
});

describe('when NATS is away for a moment', () => {
  it('a stream that lost a frame is reset, those on one node are untouched, and everything works again', async () => {
    await using server = await NatsServers.start(1);
    await using nodes = new Nodes(server);
    const [one, two] = [await nodes.start(), await nodes.start()];
    await using environment = await one.environment('nats');
    await using near = await connected(one, 'nats');
    await using far = await connected(two, 'nats');
    const [local, remote] = [await establish(near, environment), await establish(far, environment)];
    await server.kill(0);

    environment.data(remote, 0, 'lost');
    environment.data(local, 0, 'untouched');

    expect(await near.next()).toEqual({ streamId: local, type: 'data', seq: 0, text: 'untouched' });
    while ((await two.ask('/readyz')).status !== 503);
    expect((await two.connect('nats')).status).toBe(503);
    expect((await two.register('nats')).status).toBe(503);
    await server.restart(0);
    // The node that is back first decides which of the two it is.
    expect(['frame_lost', 'environment_offline']).toContain((await far.next()).reason);
    expect(['frame_lost', 'harness_disconnected']).toContain((await environment.next()).reason);
    await using _late = await registered(one, 'nats-late');
    await using _harness = await connected(two, 'nats-late'); // they still tell each other
  });

  it('and comes back empty, harnesses can connect again', async () => {
    await using server = await NatsServers.start(1);
    await using nodes = new Nodes(server);
    const [one, two] = [await nodes.start(), await nodes.spawn()];
    await using environment = await one.environment('nats-empty');
    await server.lose(0);
    while ((await two.ask('/readyz')).status !== 503);

    await server.restart(0);

    await using harness = await connected(two, 'nats-empty');
    await establish(harness, environment);
  });

  it('and comes back empty, a new environment can register at once, however often it tried', async () => {
    await using server = await NatsServers.start(1);
    await using nodes = new Nodes(server);
    const node = await nodes.start({ registrationsPerMinute: 1 });
    await server.lose(0);
    while ((await node.ask('/readyz')).status !== 503);
    expect((await node.register('nats-new')).status).toBe(503);

    await server.restart(0);
    while ((await node.ask('/readyz')).status !== 200);

    await using _new = await registered(node, 'nats-new');
  });

  it('a node can be stopped all the same', async () => {
    await using server = await NatsServers.start(1);
    await using nodes = new Nodes(server);
    const node = await nodes.spawn();
    await server.kill(0);
    while ((await node.ask('/readyz')).status !== 503);

    node.child.kill('SIGTERM');

    expect(await once(node.child, 'exit')).toEqual([0, null]);
  });
});
