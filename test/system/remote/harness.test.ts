import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ExecServerClient, RemoteFileSystem } from '../../../src/client/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { generateRelayKeys, publicKeyObject } from '../../../src/relay/index.ts';
import { bearerToken, viaRegistry } from '../../../src/relay/remote/index.ts';
import { connectHarness, InstantClock, TestEnvironment } from '../../support/remote-fixture.ts';
import { type RegistryAnswer, ScriptedRegistry } from '../../support/scripted-registry.ts';

function answerConnects(registry: ScriptedRegistry, ...answers: RegistryAnswer[]): void {
  registry.script = ({ call }) => (call === 'connect' ? answers.shift() : undefined);
}

const offline = { status: 409, body: { error: { code: 'environment_offline' } } };

describe('a harness', () => {
  it('runs commands in an environment that it knows by name only', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    await using client = await connectHarness(registry);

    const process = await client.start({ argv: ['sh', '-c', 'cat; exit 3'], io: { type: 'pipe', stdin: 'open' } });
    const { stdout, exitCode } = await process.communicate(Buffer.from('through the relay'));

    expect([Buffer.from(stdout).toString(), exitCode]).toEqual(['through the relay', 3]);
    const connect = registry.requests.find(({ call }) => call === 'connect')!;
    expect(connect.headers).toMatchObject({ authorization: 'Bearer harness-token', 'chatgpt-account-id': 'account-1' });
    const validate = registry.requests.find(({ call }) => call === 'validate')!;
    expect(validate.headers).toMatchObject({
      authorization: 'Bearer executor-token',
      'x-codex-noise-stream-id': expect.stringMatching(/^[-0-9a-f]{36}$/),
    });
    expect(validate.body.harness_public_key).toEqual(connect.body.harness_public_key);
  });

  it('searches files there, and cancels a search', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    await using client = await connectHarness(registry);
    const folder = mkdtempSync(join(tmpdir(), 'exec-server-relay-search-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
    const files = new RemoteFileSystem(client);

    const { matches } = await files.search(PathUri.fromNative(folder), { name: '*.txt', content: { literal: 'tw' } });
    const stop = new AbortController();
    const cancelled = files.search(PathUri.fromNative('/usr'), {
      content: { regex: 'x.*nowhere$' },
      signal: stop.signal,
    });
    stop.abort(new Error('enough'));

    expect(matches.map(({ path, line, text }) => [path.toNative(), line, text])).toEqual([
      [join(folder, 'a.txt'), 2, 'two'],
    ]);
    await expect(cancelled).rejects.toThrow('enough');
  });

  it.each<[string, RegistryAnswer]>([
    ['an environment that is offline', offline],
    ['408', { status: 408 }],
    ['429', { status: 429 }],
    ['503', { status: 503 }],
    ['an answer that is no JSON', { body: 'no' }],
  ])('asks up to four times more after %s', async (_, answer) => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    const clock = new InstantClock();
    answerConnects(registry, answer, answer, answer, answer);

    await using client = await connectHarness(registry, { clock });

    expect(client.state.phase).toBe('open');
    expect(clock.waits).toEqual([500, 1000, 2000, 4000]);
    answerConnects(registry, ...Array.from({ length: 9 }, () => answer));
    await expect(connectHarness(registry, { clock: new InstantClock() })).rejects.toThrow();
    expect(registry.count('connect')).toBe(10);
  });

  it.each<[RegistryAnswer, RegExp]>([
    [{ status: 401 }, /authentication failed \(401/],
    [{ status: 404 }, /\(404/],
    [{ status: 409, body: { error: { code: 'environment_gone', message: 'no more' } } }, /environment_gone: no more/],
    [{ status: 302, headers: { location: '/' } }, /\(302/],
    [{ body: { environment_id: 'other' } }, /different environment id/],
  ])('gives up at once after %j', async (answer, reason) => {
    await using registry = await ScriptedRegistry.start();
    registry.script = () => answer;

    await expect(connectHarness(registry)).rejects.toThrow(reason);
    expect(registry.requests).toHaveLength(1);
  });

  it('asks for a fresh bundle when its address has expired', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    const clock = new InstantClock();
    registry.refuse = (role) => (role === 'harness' && registry.count('connect') === 1 ? 401 : undefined);

    await using client = await connectHarness(registry, { clock });

    expect([client.state.phase, registry.count('connect'), clock.waits]).toEqual(['open', 2, []]);
  });

  it('is refused by an environment when the registry does not vouch for it', async () => {
    await using registry = await ScriptedRegistry.start();
    await using environment = new TestEnvironment(registry);
    await registry.connected();
    const secret = 'harness_key_authorization authorized';
    registry.script = ({ call }) =>
      call === 'validate' ? { status: 403, body: { error: { message: secret } } } : undefined;

    await expect(connectHarness(registry, { clock: new InstantClock() })).rejects.toThrow(/refused the stream/);

    expect(environment.log.join()).toContain('relay.handshake_refused');
    expect(environment.log.join()).not.toContain('authorized');
    expect(environment.log.join()).not.toContain('token');
  });

  it('refuses an executor that cannot prove the key the registry vouches for', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    const other = publicKeyObject(generateRelayKeys());
    registry.script = (request) => {
      if (request.call !== 'connect') return undefined;
      const { body } = registry.defaultAnswer(request);
      return { body: { ...(body as object), executor_public_key: other } };
    };

    await expect(connectHarness(registry, { clock: new InstantClock() })).rejects.toThrow(/refused the stream/);
  });
});

describe('a harness that lost its connection', () => {
  /** What comes back of a text when something breaks after its first word. */
  async function echoed(client: ExecServerClient, interrupt: () => void): Promise<string> {
    const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });
    await process.write(Buffer.from('before '));
    interrupt();
    await process.write(Buffer.from('after'));
    const { stdout } = await process.communicate(new Uint8Array(0));
    return Buffer.from(stdout).toString();
  }

  it.each([true, false])('goes on where it was, with acknowledged delivery: %s', async (reliable) => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    await using client = await connectHarness(registry, { reliable });
    const { sessionId } = client;

    const text = await echoed(client, () => {
      for (const socket of registry.harnesses.values()) socket.terminate();
    });

    expect([text, client.sessionId]).toEqual(['before after', sessionId]);
    const keys = registry.requests.filter(({ call }) => call === 'connect').map(({ body }) => body.harness_public_key);
    expect(keys.length).toBeGreaterThan(1);
    expect(keys).toEqual(keys.map(() => keys[0]));
  });

  it.each([true, false])('survives that of the environment, with acknowledged delivery: %s', async (reliable) => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    await using client = await connectHarness(registry, { reliable });

    expect(await echoed(client, () => registry.environment!.terminate())).toBe('before after');
  });

  it.each(['environment', 'harness'] as const)(
    'keeps its stream where deliveries are acknowledged: %s',
    async (side) => {
      await using registry = await ScriptedRegistry.start();
      registry.keepsStreams = true;
      await using environment = new TestEnvironment(registry);
      await registry.connected();
      await using client = await connectHarness(registry);

      const process = await client.start({ argv: ['seq', '1', '300000'] });
      let seen = '';
      let cuts = 0;
      for await (const { bytes } of process.output) {
        seen += Buffer.from(bytes).toString('latin1');
        if (seen.length < (cuts + 1) * 400_000) continue;
        cuts++;
        if (side === 'environment') registry.environment?.terminate();
        else for (const socket of registry.harnesses.values()) socket.terminate();
      }

      expect(cuts).toBe(4);
      expect(seen).toBe(Array.from({ length: 300_000 }, (_, n) => `${n + 1}\n`).join(''));
      expect(environment.log.filter((line) => line.includes('relay.stream_opened'))).toHaveLength(1);
    },
  );

  it('takes text from the rendezvous for the end of a connection, and recovers', async () => {
    await using registry = await ScriptedRegistry.start();
    await using _environment = new TestEnvironment(registry);
    await registry.connected();
    await using client = await connectHarness(registry, { reliable: false });
    const [socket] = registry.harnesses.values();

    socket!.send('not a frame');
    await registry.until(() => registry.count('connect') === 2);

    expect((await client.request('environment/info', null)).shell).toBeDefined();
  });

  it('does not talk to an executor that came in place of the one it knew', async () => {
    await using registry = await ScriptedRegistry.start();
    const first = new TestEnvironment(registry);
    await registry.connected();
    const client = await connectHarness(registry);
    await first[Symbol.asyncDispose]();
    await using _second = new TestEnvironment(registry);

    expect((await client.closed).message).toContain('executor key changed during session recovery');
    expect(registry.upgrades.filter(({ role }) => role === 'harness')).toHaveLength(1);
  });

  it('begins a new session with the server that has the environment then', async () => {
    await using registry = await ScriptedRegistry.start();
    const first = new TestEnvironment(registry);
    await registry.connected();
    const route = viaRegistry({
      registryUrl: registry.url,
      environmentId: 'env',
      credentials: bearerToken('harness-token'),
    });
    await (await ExecServerClient.connect(route))[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    await using _second = new TestEnvironment(registry);
    await registry.connected();

    await using client = await ExecServerClient.connect(route);

    expect((await client.request('environment/info', null)).shell).toBeDefined();
  });
});
