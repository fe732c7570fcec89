import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Endpoint, establish, randomKey, startRendezvous, type TestRendezvous } from './fixture.ts';

const codeOf = ({ status, body }: { status: number; body: { error?: { code: string } } }) => [status, body.error?.code];

describe('registering', () => {
  it('is answered with a URL that opens the environment’s socket', async () => {
    await using service = await startRendezvous();

    const { status, body } = await service.register('env');

    expect([status, body]).toEqual([
      200,
      {
        environment_id: 'env',
        url: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+\/ws\/v1\/env\?role=environment&reg=[0-9a-f]{32}&/),
        security_profile: 'noise_hybrid_ik_v1',
        executor_registration_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    ]);
    await using _environment = await Endpoint.open(body.url!);
  });

  it('gives out the public URL of the service, and answers there', async () => {
    await using service = await startRendezvous({ publicUrl: 'https://relay.example/api' });

    const { body } = await service.post('/api/cloud/environment/env/register', 'executor', {
      security_profile: 'noise_hybrid_ik_v1',
      executor_public_key: randomKey(),
    });

    expect(body.url).toMatch(/^wss:\/\/relay\.example\/api\/ws\/v1\/env\?/);
    await using _environment = await Endpoint.open(body.url!.replace('wss://relay.example', service.url));
  });

  it('lets two executors with one id replace each other three times a minute', async () => {
    let now = Date.now();
    await using service = await startRendezvous({ now: () => now });
    const [one, two] = [randomKey(), randomKey()];
    const answers: unknown[] = [];
    for (const key of [one, two, one, two, two, one]) answers.push(codeOf(await service.register('env', key)));
    const refused = await service.register('env', one);
    now += 60_000;
    answers.push(codeOf(await service.register('env', one)));

    const fine = [200, undefined];
    expect(answers).toEqual([fine, fine, fine, fine, fine, [409, 'environment_in_use'], fine]);
    expect(refused.headers.get('retry-after')).toBe('30');
  });

  it('is refused when an environment is registered all the time', async () => {
    await using service = await startRendezvous();
    const key = randomKey();
    const answers = await Promise.all(Array.from({ length: 17 }, () => service.register('env', key)));

    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(16).fill(200), 429]);
    expect((await service.register('other', key)).status).toBe(200);
  });

  it.each([
    [
      'another profile',
      { security_profile: 'plain', executor_public_key: randomKey() },
      'unsupported_security_profile',
    ],
    [
      'a key with something more',
      { security_profile: 'noise_hybrid_ik_v1', executor_public_key: { ...randomKey(), extra: 1 } },
      'invalid_key',
    ],
    ['no key', { security_profile: 'noise_hybrid_ik_v1' }, 'invalid_key'],
    ['a list', [], 'invalid_request'],
    ['half a body', '{', 'invalid_request'],
    ['no body', '', 'invalid_request'],
  ])('is refused with 400 for %s', async (_what, body, code) => {
    await using service = await startRendezvous();

    expect(codeOf(await service.post('/cloud/environment/env/register', 'executor', body))).toEqual([400, code]);
  });

  it('is refused for a body that is too large, and for an id that could be a path', async () => {
    await using service = await startRendezvous();

    expect(codeOf(await service.post('/cloud/environment/env/register', 'executor', 'x'.repeat(16_385)))).toEqual([
      413,
      'too_large',
    ]);
    expect(codeOf(await service.register('a%2fb'))).toEqual([400, 'invalid_environment_id']);
    expect(codeOf(await service.register('x'.repeat(65)))).toEqual([400, 'invalid_environment_id']);
  });
});

describe('connecting', () => {
  it('is answered with a bundle for the executor that is there', async () => {
    await using service = await startRendezvous();
    const key = randomKey();
    await using environment = await service.environment('env', key);

    const { status, body } = await service.connect('env');

    expect([status, body]).toEqual([
      200,
      {
        environment_id: 'env',
        url: expect.stringContaining('/ws/v1/env?role=harness&'),
        security_profile: 'noise_hybrid_ik_v1',
        executor_registration_id: environment.registration.body.executor_registration_id,
        executor_public_key: key,
        harness_key_authorization: expect.stringMatching(/^[\w.-]{100,399}$/),
      },
    ]);
  });

  it('is refused as offline for an environment that is unknown, or registered and not connected', async () => {
    await using service = await startRendezvous();
    await service.register('registered');

    expect(codeOf(await service.connect('unknown'))).toEqual([409, 'environment_offline']);
    expect(codeOf(await service.connect('registered'))).toEqual([409, 'environment_offline']);
  });

  it('is limited for each token', async () => {
    await using service = await startRendezvous({ limits: { socketsPerSecond: 2 }, now: () => 1_800_000_000_000 });
    await using _environment = await service.environment();
    const answers = [await service.connect('env'), await service.connect('env'), await service.connect('env')];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  });
});

describe('a socket URL', () => {
  it('of a harness is good for one socket', async () => {
    await using service = await startRendezvous();
    await using _environment = await service.environment();
    const { body } = await service.connect('env');
    await using _harness = await Endpoint.open(body.url!);

    expect(await Endpoint.refusal(body.url!)).toBe(401);
  });

  it('of a harness is good for a minute, of an environment for a day', async () => {
    let now = Date.now();
    await using service = await startRendezvous({ now: () => now });
    await using environment = await service.environment();
    const { body } = await service.connect('env');
    now += 61_000;
    expect(await Endpoint.refusal(body.url!)).toBe(401);

    now += 23 * 3_600_000;
    await using _again = await Endpoint.open(environment.registration.body.url!);
    now += 3_600_000;
    expect(await Endpoint.refusal(environment.registration.body.url!)).toBe(401);
  });

  it('is refused when any part of it has changed', async () => {
    await using service = await startRendezvous();
    await service.register('other');
    await using _environment = await service.environment();
    const url = new URL((await service.connect('env')).body.url!);
    const changed = (change: (url: URL) => void): string => {
      const copy = new URL(url);
      change(copy);
      return copy.href;
    };
    const flipped = (text: string): string => (text.startsWith('a') ? 'b' : 'a') + text.slice(1);
    const names = ['role', 'reg', 'conn', 'key', 'exp', 'kid', 'sig'];
    const urls = [
      ...names.map((name) => changed(({ searchParams }) => searchParams.delete(name))),
      ...names.map((name) => changed(({ searchParams: all }) => all.set(name, flipped(all.get(name)!)))),
      changed(({ searchParams }) => searchParams.set('role', 'environment')),
      changed((copy) => {
        copy.pathname = '/ws/v1/other';
      }),
    ];

    for (const wrong of urls) expect([wrong, await Endpoint.refusal(wrong)]).toEqual([wrong, 401]);
    expect(await Endpoint.refusal(url.href)).toBe(101);
  });

  it('of a harness is refused when the environment has left', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    const { body } = await service.connect('env');
    environment.ws.terminate();
    await environment.closed;
    while ((await service.connect('env')).status !== 409);

    expect(await Endpoint.refusal(body.url!)).toBe(401);
  });
});

describe('a harness key authorization', () => {
  const admitted = async (service: TestRendezvous) => {
    const key = randomKey();
    const { body } = await service.connect('env', key);
    return { key, bundle: body as Record<string, unknown> };
  };

  it('is valid once', async () => {
    await using service = await startRendezvous();
    await using _environment = await service.environment();
    const { key, bundle } = await admitted(service);

    expect(await service.validate('env', bundle, key)).toMatchObject({ valid: true });
    expect(await service.validate('env', bundle, key)).toEqual({ valid: false });
  });

  it('is valid for two minutes', async () => {
    let now = Date.now();
    await using service = await startRendezvous({ now: () => now });
    await using _environment = await service.environment();
    const [early, late] = [await admitted(service), await admitted(service)];
    now += 119_000;
    expect(await service.validate('env', early.bundle, early.key)).toMatchObject({ valid: true });
    now += 2_000;
    expect(await service.validate('env', late.bundle, late.key)).toEqual({ valid: false });
  });

  it('is valid only for its key, environment and registration', async () => {
    await using service = await startRendezvous();
    await using _environment = await service.environment();
    await using _other = await service.environment('other');
    const { key, bundle } = await admitted(service);
    const token = bundle.harness_key_authorization as string;
    const wrong = [
      ['env', bundle, randomKey()],
      ['other', bundle, key],
      ['env', { ...bundle, executor_registration_id: '0'.repeat(32) }, key],
      ['env', { ...bundle, harness_key_authorization: `x${token.slice(1)}` }, key],
      ['env', { ...bundle, harness_key_authorization: `${token}.x` }, key],
      ['env', { ...bundle, harness_key_authorization: undefined }, key],
    ] as const;

    for (const [id, changed, by] of wrong) expect(await service.validate(id, changed, by)).toEqual({ valid: false });
    expect(await service.validate('env', bundle, key)).toMatchObject({ valid: true });
  });

  it('ends with the registration', async () => {
    await using service = await startRendezvous();
    await using _older = await service.environment();
    const { key, bundle } = await admitted(service);
    await using newer = await service.environment();
    const { executor_registration_id } = newer.registration.body;

    expect(await service.validate('env', bundle, key)).toEqual({ valid: false });
    expect(await service.validate('env', { ...bundle, executor_registration_id }, key)).toEqual({ valid: false });
  });
});

describe('the caller of the registry', () => {
  it('must hold a token for the purpose', async () => {
    await using service = await startRendezvous();
    const body = { security_profile: 'noise_hybrid_ik_v1', executor_public_key: randomKey() };
    const register = '/cloud/environment/env/register';

    expect(codeOf(await service.post(register, 'nonsense', body))).toEqual([401, 'unauthorized']);
    expect(codeOf(await service.post(register, 'harness', body))).toEqual([403, 'forbidden']);
    expect(codeOf(await service.post(register, 'admin', body))).toEqual([403, 'forbidden']);
    const connect = '/cloud/environment/env/connect';
    expect(codeOf(await service.post(connect, 'executor', body))).toEqual([403, 'forbidden']);
    expect(codeOf(await service.post('/cloud/environment/env/validate', 'harness', body))).toEqual([403, 'forbidden']);
    expect(codeOf(await service.ask('/v1/environments', 'GET', 'harness'))).toEqual([403, 'forbidden']);
  });

  it('must not be a browser', async () => {
    await using service = await startRendezvous();
    const { body } = await service.register('env');
    const response = await fetch(`${service.url}/healthz`, { headers: { origin: 'https://example.com' } });
    const { WebSocket } = await import('ws');
    const ws = new WebSocket(body.url!, { origin: 'https://example.com' });
    const status = await new Promise((resolve) => {
      ws.once('unexpected-response', (_, { statusCode }) => resolve(statusCode));
      ws.once('error', () => {}); // follows the response
    });

    expect([response.status, status]).toEqual([403, 403]);
  });
});

describe('operators', () => {
  it('see which environments there are', async () => {
    await using service = await startRendezvous();
    await using _one = await service.environment('one');
    await service.register('two');
    await using three = await service.environment('three');
    three.ws.terminate();
    while ((await service.connect('three')).status !== 409);

    const { body } = await service.ask('/v1/environments');

    const shown = (environment_id: string, state: string, epoch: number) => ({
      environment_id,
      state,
      epoch,
      executor_registration_id: expect.any(String),
      node: expect.any(String),
      registered_by: expect.stringMatching(/^[0-9a-f]{8}$/),
      updated: expect.any(String),
    });
    expect(body).toEqual({
      environments: [shown('one', 'online', 1), shown('two', 'offline', 0), shown('three', 'offline', 1)],
    });
  });

  it('can end a registration: its sockets are closed and its URL is refused', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    await establish(harness, environment);

    expect((await service.ask('/v1/environments/env', 'DELETE')).status).toBe(204);

    expect([await environment.closed, await harness.closed]).toEqual([4410, 4410]);
    expect(await Endpoint.refusal(environment.registration.body.url!)).toBe(401);
    expect((await service.ask('/v1/environments/env', 'DELETE')).status).toBe(404);
  });

  it('can read its health and metrics', async () => {
    await using service = await startRendezvous();
    await using environment = await service.environment();
    await using harness = await service.harness();
    await establish(harness, environment);

    expect((await service.ask('/healthz')).body).toEqual({ text: 'ok\n' });
    expect((await service.ask('/readyz')).body).toEqual({ text: 'ready\n' });
    expect((await service.ask('/nothing')).status).toBe(404);
    expect((await service.ask('/healthz', 'POST')).status).toBe(405);
    const { text } = (await service.ask('/metrics')).body;
    expect(text!.split('\n')).toEqual(
      expect.arrayContaining([
        '# TYPE rendezvous_frames_total counter',
        'rendezvous_frames_total{direction="to_environment"} 2',
        'rendezvous_frames_total{direction="to_harness"} 1',
        'rendezvous_requests_total{operation="register",status="200"} 1',
        'rendezvous_upgrades_total{role="harness",status="101"} 1',
        'rendezvous_sockets{role="harness"} 1',
        'rendezvous_streams 1',
        'rendezvous_queued_bytes 0',
      ]),
    );
  });

  it('find every connection in the audit log, and no secrets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'exec-server-audit-'));
    const auditPath = join(folder, 'audit.jsonl');
    const secrets: string[] = [];
    {
      await using service = await startRendezvous({ auditPath });
      await using environment = await service.environment();
      const key = randomKey();
      const { body } = await service.connect('env', key);
      await using harness = await Endpoint.open(body.url!);
      await establish(harness, environment);
      await service.validate('env', body, key);
      await service.post('/cloud/environment/env/connect', 'wrong-token', {});
      await service.post(`/cloud/environment/${'x'.repeat(9000)}/connect`, 'wrong-token', {});
      secrets.push(...Object.values(service.tokens), 'wrong-token', body.harness_key_authorization!);
      secrets.push(new URL(body.url!).searchParams.get('sig')!);
    }
    const log = await readFile(auditPath, 'utf8');
    const entries = log
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    await rm(folder, { recursive: true });

    expect(entries.map(({ event }) => event).sort()).toEqual([
      'environment.connected',
      'environment.disconnected',
      'environment.registered',
      'harness.admitted',
      'harness.connected',
      'harness.disconnected',
      'harness.validated',
      'request.refused',
      'request.refused',
    ]);
    expect(Math.max(...log.split('\n').map(({ length }) => length))).toBeLessThan(500);
    expect(entries.every(({ environmentId, time }) => /^(env|x{64})$/.test(String(environmentId)) && time)).toBe(true);
    for (const secret of secrets) expect(log).not.toContain(secret);
  });
});
