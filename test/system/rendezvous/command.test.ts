import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { sha256 } from '../../support/digest.ts';
import { serverProgram } from '../../support/server.ts';
import { Endpoint, establish, RegistryCaller } from './fixture.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exec-server-rendezvous-'));
});
afterAll(() => rm(folder, { recursive: true }));

const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
};

const tokenEntry = async (token: string, scope: string, environments = ['*']) => ({
  sha256: sha256(token),
  scope,
  environments,
});

class RendezvousProgram implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly url: string;
  readonly errors: string[];

  constructor(child: ChildProcess, url: string, errors: string[]) {
    this.child = child;
    this.url = url;
    this.errors = errors;
  }

  static async start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RendezvousProgram> {
    const child = spawn(process.execPath, [serverProgram, 'rendezvous', ...args], {
      env: { ...process.env, ...env },
      detached: true, // from the terminal of the tests, with which SIGHUP would end it
    });
    const errors: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
    const [url] = (await Promise.race([
      once(createInterface({ input: child.stdout }), 'line'),
      once(child, 'exit').then(() => Promise.reject(new Error(errors.join('\n')))),
    ])) as [string];
    return new RendezvousProgram(child, url, errors);
  }

  /** The tokens it printed. */
  caller(): RegistryCaller {
    const shown = Object.fromEntries(
      this.errors.flatMap((line) => {
        const [, scope, token] = /^(\w+) token: (\S+)$/.exec(line) ?? [];
        return scope ? [[scope, token]] : [];
      }),
    );
    return new RegistryCaller(this.url, shown as RegistryCaller['tokens']);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null) {
      this.child.kill(signal);
      await once(this.child, 'exit');
    }
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

const flags = [
  '--listen',
  '--public-url',
  '--tokens-file',
  '--jwt-keys-file',
  '--jwt-issuer',
  '--jwt-audience',
  '--secret-file',
  '--nats',
  '--node',
  '--nats-user',
  '--nats-password-file',
  '--nats-creds-file',
  '--audit-log',
  '--allow-insecure',
  '--help',
];

describe('exec-server rendezvous', () => {
  it('shows every flag in its help', async () => {
    const { code, stdout, stderr } = await runCommand(['rendezvous', '--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const flag of flags) expect(stdout).toContain(` ${flag}`);
    expect((await runCommand(['--help'])).stdout).toContain('exec-server rendezvous');
  });

  it('prints its URL and nothing else, shows a token for each scope once, and stops when asked', async () => {
    const child = spawn(process.execPath, [serverProgram, 'rendezvous']);
    const output = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    const [stdout, stderr, [code]] = await output;

    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/);
    expect(stderr).toMatch(/^executor token: \S{43}\nharness token: \S{43}\nadmin token: \S{43}\n$/);
    expect(code).toBe(0);
  });

  it('lets an environment and a harness meet with the tokens it showed, and closes their sockets in order', async () => {
    await using program = await RendezvousProgram.start([]);
    const caller = program.caller();
    await using environment = await caller.environment();
    await using harness = await caller.harness();
    const stream = await establish(harness, environment);

    expect(await program.stop('SIGINT')).toBe(0);

    expect(await harness.next()).toEqual({ streamId: stream, type: 'reset', reason: 'environment_offline' });
    expect([await environment.closed, await harness.closed]).toEqual([1001, 1001]);
  });

  it('tells wrong usage from failure by its exit code', async () => {
    const [wrong, failed] = await Promise.all([
      runCommand(['rendezvous', '--listen', 'ws://127.0.0.1:0']),
      runCommand(['rendezvous', '--tokens-file', '/no/such']),
    ]);

    expect([wrong.code, wrong.stdout, failed.code, failed.stdout]).toEqual([2, '', 1, '']);
    expect(failed.stderr).toMatch(/^Error: cannot use \/no\/such: ENOENT/);
  });

  it('reports that it cannot reach NATS, without the password, and exits with 1', async () => {
    const tokens = await file('nats-tokens.json', '{"tokens":[]}');
    const secret = await file('nats-secret', 'x'.repeat(32));
    const nats = ['--nats', 'nats://127.0.0.1:1', '--node', 'a', '--nats-user', 'somebody'];
    const args = ['rendezvous', ...nats, '--tokens-file', tokens, '--secret-file', secret];
    const { code, stderr } = await runCommand(args, { EXEC_SERVER_NATS_PASSWORD: 'password' });

    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: cannot connect to NATS at 127\.0\.0\.1:1: /);
    expect(stderr).not.toContain('password');
  });

  it('survives SIGHUP while it waits for NATS', async () => {
    const nats = createServer().listen(0, '127.0.0.1');
    await once(nats, 'listening');
    const { port } = nats.address() as AddressInfo;
    const tokens = await file('early-tokens.json', '{"tokens":[]}');
    const secret = await file('early-secret', 'x'.repeat(32));
    const cluster = ['--nats', `nats://127.0.0.1:${port}`, '--node', 'a'];
    const files = ['--tokens-file', tokens, '--secret-file', secret];
    const connected = once(nats, 'connection') as Promise<[Socket]>;
    const child = spawn(process.execPath, [serverProgram, 'rendezvous', ...cluster, ...files], {
      stdio: 'ignore',
      detached: true,
    });
    const exited = once(child, 'exit');
    const [socket] = await connected;

    child.kill('SIGHUP');
    socket.destroy();

    expect(await exited).toEqual([1, null]);
    nats.close();
  });

  it('reads tokens and secrets again and reopens the audit log on SIGHUP', async () => {
    const first = [await tokenEntry('kept', 'executor'), await tokenEntry('old', 'executor')];
    const tokens = await file('tokens.json', JSON.stringify({ tokens: first }));
    const secret = await file('secret', `${'a'.repeat(32)}\n`);
    const audit = join(folder, 'audit.jsonl');
    const args = ['--tokens-file', tokens, '--secret-file', secret, '--audit-log', audit];
    await using program = await RendezvousProgram.start(args, { EXEC_SERVER_LOG: 'info' });
    const caller = new RegistryCaller(program.url, { executor: 'old', harness: '', admin: '' });
    const { body: lost } = await caller.register('lost');
    const { body } = await new RegistryCaller(program.url, { executor: 'kept', harness: '', admin: '' }).register(
      'env',
    );
    const kept = [await tokenEntry('kept', 'executor'), await tokenEntry('new', 'executor')];
    await writeFile(tokens, JSON.stringify({ tokens: kept }));
    await writeFile(secret, `${'a'.repeat(32)}\n${'b'.repeat(32)}\n`);
    await rename(audit, `${audit}.1`);
    const reloaded = (): number => program.errors.filter((line) => line.includes('"settings.reloaded"')).length;

    program.child.kill('SIGHUP');
    while (reloaded() < 2) await once(program.child.stderr!, 'data');

    expect((await caller.register('env')).status).toBe(401);
    const renewed = new RegistryCaller(program.url, { executor: 'new', harness: '', admin: '' });
    const kid = (url: string): string | null => new URL(url).searchParams.get('kid');
    await using _environment = await Endpoint.open(body.url!); // signed with the older secret
    await expect(Endpoint.open(lost.url!)).rejects.toThrow('401'); // given for a token that is gone
    const again = await renewed.register('other');
    expect(kid(again.body.url!)).not.toBe(kid(body.url!));
    await program.stop();
    expect(await readFile(`${audit}.1`, 'utf8')).toContain('"environment.registered","environmentId":"env"');
    expect(await readFile(audit, 'utf8')).toContain('"environment.registered","environmentId":"other"');
  });

  it('keeps the tokens it has when the file is wrong', async () => {
    const tokens = await file('kept.json', JSON.stringify({ tokens: [await tokenEntry('old', 'executor')] }));
    await using program = await RendezvousProgram.start(['--tokens-file', tokens]);
    await writeFile(tokens, '{');

    program.child.kill('SIGHUP');
    while (!program.errors.some((line) => line.includes('settings.not_reloaded'))) {
      await once(program.child.stderr!, 'data');
    }

    const caller = new RegistryCaller(program.url, { executor: 'old', harness: '', admin: '' });
    expect((await caller.register('env')).status).toBe(200);
  });

  it('accepts tokens signed by configured keys', async () => {
    const { exportJWK, generateKeyPair, SignJWT } = await import('jose');
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const keys = await file('jwks.json', JSON.stringify({ keys: [await exportJWK(publicKey)] }));
    await using program = await RendezvousProgram.start(['--jwt-keys-file', keys, '--jwt-issuer', 'us']);
    const token = (issuer: string): Promise<string> =>
      new SignJWT({ scope: 'executor', environments: ['env'] })
        .setProtectedHeader({ alg: 'ES256' })
        .setIssuer(issuer)
        .setExpirationTime('1h')
        .sign(privateKey);
    const status = async (issuer: string, id: string): Promise<number> => {
      const caller = new RegistryCaller(program.url, { executor: await token(issuer), harness: '', admin: '' });
      return (await caller.register(id)).status;
    };

    expect([await status('us', 'env'), await status('us', 'other'), await status('them', 'env')]).toEqual([
      200, 403, 401,
    ]);
    expect(program.errors).toEqual([]); // no tokens were made up
  });
});
