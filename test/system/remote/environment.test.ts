import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/index.ts';
import { encodeFrame } from '../../../src/relay/index.ts';
import { connectHarness, TestEnvironment } from '../../support/remote-fixture.ts';
import { type RegistryAnswer, ScriptedRegistry } from '../../support/scripted-registry.ts';

/** Answers the first calls of one kind as given, and then as usual. */
function firstAnswers(registry: ScriptedRegistry, call: string, ...answers: RegistryAnswer[]): void {
  registry.script = (request) => (request.call === call ? answers.shift() : undefined);
}

describe('a remote environment', () => {
  it('registers with its key and connects to the address it is given', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment({ url: `${registry.url}/api/` });
    await registry.connected();

    const [request] = registry.requests;
    expect(request).toMatchObject({
      path: '/api/cloud/environment/env/register',
      headers: { 'content-type': 'application/json', authorization: 'Bearer executor-token' },
      body: {
        security_profile: 'noise_hybrid_ik_v1',
        executor_public_key: {
          suite: 'Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256',
          x25519_public_key: expect.stringMatching(/^.{44}$/),
          mlkem768_public_key: expect.stringMatching(/^.{1580}$/),
        },
      },
    });
    expect(JSON.stringify(request?.body).length).toBe(1792);
    expect(registry.upgrades).toHaveLength(1);
    expect(registry.upgrades[0]?.url).toMatch(/^\/ws\?role=environment&registration=[-0-9a-f]{36}$/);
    const { headers } = registry.upgrades[0]!;
    expect(headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/);
    expect([headers.authorization, headers['sec-websocket-extensions']]).toEqual([undefined, undefined]);
  });

  it.each<[string, RegistryAnswer]>([
    ['408', { status: 408 }],
    ['429', { status: 429 }],
    ['500', { status: 500, body: { error: { code: 'oops' } } }],
    ['503', { status: 503 }],
    ['409', { status: 409, body: { error: { code: 'environment_in_use' } } }],
    ['a page that is no JSON', { body: '<html>' }],
    ['an answer without a registration', { body: { environment_id: 'env', security_profile: 'noise_hybrid_ik_v1' } }],
  ])('tries its first registration again after %s', async (_, answer) => {
    await using registry = await ScriptedRegistry.start();
    firstAnswers(registry, 'register', answer, answer, answer);
    await using environment = new TestEnvironment(registry);
    await registry.connected();

    expect(registry.count('register')).toBe(4);
    expect(environment.clock.waits).toEqual([1000, 2000, 4000]);
  });

  it('waits as long as a busy registry asks for', async () => {
    await using registry = await ScriptedRegistry.start();
    firstAnswers(registry, 'register', { status: 429, headers: { 'retry-after': '17' } });
    await using environment = new TestEnvironment(registry);
    await registry.connected();

    expect(environment.clock.waits).toEqual([17_000]);
  });

  it('waits for a registry that is not there yet', async () => {
    const gone = await ScriptedRegistry.start();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    await using environment = new TestEnvironment({ url });
    await environment.clock.untilWaited(3);
    expect(environment.clock.waits).toEqual(expect.arrayContaining([1000, 2000, 4000]));
  });

  it('says why it could not register when the time for it is up', async () => {
    const gone = await ScriptedRegistry.start();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const sleep = async (_ms: number, signal: AbortSignal) => void (await once(signal, 'abort'));
    const untilTheEnd: Clock = { ...systemClock, sleep };
    await using environment = new TestEnvironment({ url }, { registerTimeoutMs: 1000, clock: untilTheEnd });

    expect((await environment.ended)?.message).toBe(
      `environment registry request failed: ECONNREFUSED at ${url}/cloud/environment/env/register`,
    );
  });

  it.each<[RegistryAnswer, string]>([
    [{ status: 401 }, 'environment registry authentication failed (401 Unauthorized) at URL: {}'],
    [{ status: 403 }, 'environment registry authentication failed (403 Forbidden) at URL: {}'],
    [{ status: 404 }, 'environment registry request failed (404 Not Found) at URL: {}'],
    [
      { status: 302, headers: { location: '/elsewhere' }, body: '' },
      'environment registry request failed (302 Found) at URL',
    ],
    [{ body: { environment_id: 'other' } }, 'environment registry returned a different environment id'],
    [
      { body: { environment_id: 'env', security_profile: 'plain' } },
      'environment registry returned an unsupported security profile',
    ],
  ])('gives up at once when the registry answers its first registration with %j', async (answer, reason) => {
    await using registry = await ScriptedRegistry.start();
    registry.script = () => answer;
    await using environment = new TestEnvironment(registry);

    const url = `${registry.url}/cloud/environment/env/register`;
    expect((await environment.ended)?.message).toBe(reason.replace('URL', url));
    expect(registry.requests).toHaveLength(1);
  });

  it('registers anew, under the same key, when its address is refused for good', async () => {
    await using registry = await ScriptedRegistry.start();
    registry.refuse = () => (registry.upgrades.length === 1 ? 404 : undefined);
    await using environment = new TestEnvironment(registry);
    await registry.connected();

    const [first, second] = registry.requests;
    expect(second).toEqual(first);
    expect(registry.upgrades[1]?.url).not.toBe(registry.upgrades[0]?.url);
    expect(environment.clock.waits).toEqual([1000]);
  });

  it('keeps its address while the rendezvous is failing', async () => {
    await using registry = await ScriptedRegistry.start();
    registry.refuse = () => (registry.upgrades.length <= 6 ? 503 : undefined);
    await using environment = new TestEnvironment(registry);
    await registry.connected();

    expect(registry.count('register')).toBe(1);
    expect(new Set(registry.upgrades.map(({ url }) => url)).size).toBe(1);
    expect(environment.clock.waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000]);
  });

  it.each([1001, 4401])('returns to the same address after a connection that was closed with %i', async (code) => {
    await using registry = await ScriptedRegistry.start();
    await using environment = new TestEnvironment(registry);
    await registry.connected();
    for (let times = 1; times <= 3; times++) {
      registry.environment!.close(code);
      await registry.until(() => registry.upgrades.length === times + 1 && registry.environment !== undefined);
    }

    expect(registry.count('register')).toBe(1);
    expect(environment.clock.waits).toEqual([1000, 2000, 4000]);
  });

  it('takes a connection of two minutes for a sign of health', async () => {
    await using registry = await ScriptedRegistry.start();
    await using environment = new TestEnvironment(registry);
    await registry.connected();
    for (const lasted of [0, 119_000, 121_000]) {
      const seen = registry.upgrades.length;
      environment.clock.pass(lasted);
      registry.environment!.close(1001);
      await registry.until(() => registry.upgrades.length > seen && registry.environment !== undefined);
    }

    expect(environment.clock.waits).toEqual([1000, 2000, 1000]);
  });

  it('outlives a registry that does not know it any more', async () => {
    await using registry = await ScriptedRegistry.start();
    await using environment = new TestEnvironment(registry);
    await registry.connected();
    firstAnswers(registry, 'register', { status: 401 }, { status: 404 }, { status: 500 }, { body: 'nonsense' });
    registry.refuse = () => (registry.upgrades.length === 2 ? 401 : undefined);

    registry.environment!.terminate();
    await registry.until(() => registry.upgrades.length === 3 && registry.environment !== undefined);

    expect(registry.count('register')).toBe(6);
    expect(environment.clock.waits).toEqual([1000, 1000, 2000, 4000, 8000, 2000]);
  });

  it('stops without an error when it is told to, whatever it is doing', async () => {
    await using registry = await ScriptedRegistry.start();
    const connected = new TestEnvironment(registry);
    await registry.connected();
    const client = await connectHarness(registry);
    const closed = once(registry.environment!, 'close');

    await connected[Symbol.asyncDispose]();

    expect(await connected.ended).toBeUndefined();
    expect((await closed)[0]).toBe(1000);
    await client.close();
    registry.script = () => ({ status: 503 });
    const registering = new TestEnvironment(registry);
    await registry.until(() => registry.count('register') > 3);
    await registering[Symbol.asyncDispose]();
    expect(await registering.ended).toBeUndefined();
  });
});

describe('the websocket of a remote environment', () => {
  it('ignores text and invalid frames', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    registry.environment!.send('hello');
    registry.environment!.send(Buffer.from([1, 2, 3]));

    await using client = await connectHarness(registry);

    expect(registry.upgrades.filter(({ role }) => role === 'environment')).toHaveLength(1);
    expect(client.state.phase).toBe('open');
  });

  it('takes 262144 bytes at a time, and ends over more', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    const socket = registry.environment!;
    const frame = encodeFrame({ streamId: 'stray', body: { type: 'handshake', payload: new Uint8Array(262_000) } });
    const answered = once(socket, 'message');
    socket.send(Buffer.concat([frame, unknownField(262_144 - frame.length)]));
    await answered;

    const closed = once(socket, 'close');
    socket.send(Buffer.alloc(262_145));

    expect((await closed)[0]).toBe(1009);
  });
});

/** A field that a decoder skips, of so many bytes in all. */
function unknownField(bytes: number): Buffer {
  const value = Buffer.alloc(bytes - 3);
  return Buffer.concat([Buffer.from([(15 << 3) | 2, (value.length & 0x7f) | 0x80, value.length >> 7]), value]);
}
