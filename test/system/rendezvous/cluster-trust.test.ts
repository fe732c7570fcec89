import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { environmentToken } from '../../../src/relay/rendezvous/api/identifiers.ts';
import { NatsServers, Nodes } from './cluster-fixture.ts';
import { establish, type RegistryCaller, randomKey } from './fixture.ts';

type Key = Record<'x25519_public_key' | 'mlkem768_public_key', string>;
const newKey = (): Key => randomKey() as Key;

let count = 0;
const freshId = (): string => `trust-${count++}`;

let nats: NatsServers;
beforeAll(async () => {
  nats = await NatsServers.start(1);
});
afterAll(() => nats[Symbol.asyncDispose]());

/** A program that may do anything on NATS and knows no secret of the nodes. */
class Intruder implements AsyncDisposable {
  readonly connection: NatsConnection;
  readonly #directory: KV;

  private constructor(connection: NatsConnection, directory: KV) {
    this.connection = connection;
    this.#directory = directory;
  }

  /** After the first node has started: the bucket of registrations is the one with the longest life. */
  static async open(): Promise<Intruder> {
    const connection = await connect({ servers: new URL(nats.urls[0]!).host });
    const kvm = new Kvm(jetstream(connection));
    const buckets = [];
    for await (const status of kvm.list()) buckets.push(status);
    const [longest] = buckets.sort((one, other) => other.ttl - one.ttl);
    return new Intruder(connection, await kvm.open(longest!.bucket));
  }

  async read(environmentId: string): Promise<string> {
    return (await this.#directory.get(environmentToken(environmentId)))!.string();
  }

  async write(environmentId: string, value: string): Promise<void> {
    await this.#directory.put(environmentToken(environmentId), value);
  }

  async remove(environmentId: string): Promise<void> {
    await this.#directory.delete(environmentToken(environmentId));
  }

  /** The name of the stream under the bucket. */
  async recreateBucket(): Promise<void> {
    const manager = await jetstreamManager(this.connection);
    const { config } = (await this.#directory.status()).streamInfo;
    await manager.streams.delete(config.name);
    await manager.streams.add(config);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection.close();
  }
}

let nodes: Nodes;
let one: RegistryCaller;
let two: RegistryCaller;
beforeEach(async () => {
  nodes = new Nodes(nats);
  [one, two] = [await nodes.start(), await nodes.start()];
});
afterEach(() => nodes[Symbol.asyncDispose]());

async function online(node: RegistryCaller, environmentId: string): Promise<void> {
  while ((await node.connect(environmentId)).status !== 200);
}

/** Resolves when a node has seen everything that was written to the directory before. */
async function caughtUp(node: RegistryCaller): Promise<void> {
  const id = freshId();
  await using _environment = await (node === one ? two : one).environment(id);
  await online(node, id);
}

/** The key under which a node sends clients to an environment. */
const keyAt = async (node: RegistryCaller, environmentId: string): Promise<unknown> => {
  await caughtUp(node);
  const { body } = await node.connect(environmentId);
  return body.executor_public_key;
};

describe('access to NATS alone', () => {
  it('does not change the key of an environment', async () => {
    await using intruder = await Intruder.open();
    const [id, key, forged] = [freshId(), newKey(), newKey()];
    await using _environment = await one.environment(id, key);
    await online(two, id);

    const value = await intruder.read(id);
    await intruder.write(id, value.replace(key.x25519_public_key, forged.x25519_public_key));

    expect(await keyAt(two, id)).toEqual(key);
    expect(await keyAt(one, id)).toEqual(key);
  });

  it('does not lead clients of one environment to another', async () => {
    await using intruder = await Intruder.open();
    const [id, other, key, otherKey] = [freshId(), freshId(), newKey(), newKey()];
    await using _environment = await one.environment(id, key);
    await using _other = await one.environment(other, otherKey);
    await online(two, id);
    await online(two, other);

    await intruder.write(id, await intruder.read(other));

    expect(await keyAt(two, id)).toEqual(key);
  });

  it('does not bring an earlier registration back', async () => {
    await using intruder = await Intruder.open();
    const [id, before, key] = [freshId(), newKey(), newKey()];
    await using _before = await one.environment(id, before);
    const value = await intruder.read(id);
    await using _environment = await one.environment(id, key);
    await online(two, id);

    await intruder.write(id, value);

    expect(await keyAt(two, id)).toEqual(key);
  });

  it('does not remove a registration, and a node still changes what was overwritten', async () => {
    await using intruder = await Intruder.open();
    const [id, key, next] = [freshId(), newKey(), newKey()];
    await using _environment = await one.environment(id, key);
    await online(two, id);

    await intruder.remove(id);
    expect(await keyAt(two, id)).toEqual(key);
    await intruder.write(id, 'nonsense');
    expect(await keyAt(two, id)).toEqual(key);

    await using _next = await two.environment(id, next);
    await online(one, id);
    expect(await keyAt(one, id)).toEqual(next);
    expect((await one.ask(`/v1/environments/${id}`, 'DELETE')).status).toBeLessThan(300);
    await caughtUp(two);
    expect((await two.connect(id)).status).toBe(409);
  });

  it('neither ends a stream between two nodes nor repeats its frames', async () => {
    await using intruder = await Intruder.open();
    const seen: Msg[] = [];
    intruder.connection.subscribe('>', { callback: (_, message) => void seen.push(message) });
    await intruder.connection.flush();
    const id = freshId();
    await using environment = await one.environment(id);
    await online(two, id);
    await using harness = await two.harness(id);
    const stream = await establish(harness, environment);
    harness.data(stream, 0, 'first');
    await environment.next();
    environment.data(stream, 0, 'first');
    await harness.next();
    await intruder.connection.flush();

    const between = seen.filter(({ subject, reply }) => reply !== undefined && /^\w+\.n\d+-.*\.[eh]\./.test(subject));
    expect(between.length).toBeGreaterThan(3);
    for (const { subject, reply, data } of between) {
      intruder.connection.publish(subject, data, { reply: reply! });
      intruder.connection.publish(subject, JSON.stringify({ type: 'gone' }), { reply: reply! });
      intruder.connection.publish(subject, Buffer.concat([data, Buffer.from('x')]), { reply: reply! });
    }
    await intruder.connection.flush();
    harness.data(stream, 1, 'second');
    environment.data(stream, 1, 'second');

    expect(await environment.next()).toMatchObject({ streamId: stream, type: 'data', seq: 1 });
    expect(await harness.next()).toMatchObject({ streamId: stream, type: 'data', seq: 1 });
  });
});

describe('a NATS server that wants a password', () => {
  it('gets it from a file or a variable, for a user or as a token', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'exec-server-password-'));
    await writeFile(join(folder, 'password'), 'a secret\n', { mode: 0o600 });
    const file = ['--nats-password-file', join(folder, 'password')];
    const variable = { EXEC_SERVER_NATS_PASSWORD: 'a secret' };
    await using guarded = await NatsServers.start(1, ['--user', 'relay', '--pass', 'a secret']);
    await using tokened = await NatsServers.start(1, ['--auth', 'a secret']);
    await using users = new Nodes(guarded);
    await using tokens = new Nodes(tokened);

    const started = [
      await users.spawn(['--nats-user', 'relay', ...file]),
      await users.spawn(['--nats-user', 'relay'], variable),
      await tokens.spawn(file),
      await tokens.spawn([], variable),
    ];

    for (const node of started) expect((await node.register(freshId())).status).toBe(200);
    await rm(folder, { recursive: true });
  });
});

describe('a bucket of registrations that is made anew', () => {
  it('is filled and followed again: environments stay reachable and new ones are seen', async () => {
    await using intruder = await Intruder.open();
    const [id, key, later] = [freshId(), newKey(), freshId()];
    await using environment = await one.environment(id, key);
    await online(two, id);

    await intruder.recreateBucket();

    await using _later = await one.environment(later);
    await online(two, later);
    await online(two, id);
    const third = await nodes.start();
    await online(third, id);
    await using harness = await third.harness(id);
    await establish(harness, environment);
  });
});
