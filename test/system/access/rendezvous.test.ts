import { beforeEach, describe, expect, it } from 'vitest';
import { openConnection } from '../../../src/client/connection.ts';
import { type Connector, ExecServerClient } from '../../../src/client/index.ts';
import { bearerToken, viaRegistry } from '../../../src/relay/remote/index.ts';
import { runCommand } from '../../support/command.ts';
import { BackgroundProgram } from '../../support/remote-programs.ts';
import { TokenFixture } from './fixture.ts';

const plainly = { clientName: 'test', events: undefined, sandboxDenials: false, endings: false, timeoutMs: 5000 };
const nothing = { request: () => null, notification: () => {}, violated: () => {} };
const never = new AbortController().signal;

/** A rendezvous with tokens of a file, and an environment behind it. */
class RelayFixture implements AsyncDisposable {
  readonly tokens = new TokenFixture();
  rendezvous!: BackgroundProgram;
  url = '';
  environment: BackgroundProgram | undefined;

  static async start(): Promise<RelayFixture> {
    const fixture = new RelayFixture();
    const executor = await fixture.tokens.add('box', 'executor', '--environments', 'box');
    const args = ['rendezvous', '--listen', 'http://127.0.0.1:0', '--tokens-file', fixture.tokens.file];
    fixture.rendezvous = new BackgroundProgram({ args, detached: true });
    fixture.url = await fixture.rendezvous.line();
    const remote = ['--remote', fixture.url, '--environment-id', 'box'];
    fixture.environment = new BackgroundProgram({ args: remote, env: { CODEX_API_KEY: executor } });
    await fixture.environment.logs('rendezvous.connected');
    return fixture;
  }

  /** Runs a command on the environment. */
  run(token: string, ...command: readonly string[]): ReturnType<typeof runCommand> {
    const args = ['run', '--remote', this.url, '--environment-id', 'box', '--', ...command];
    return runCommand(args, { CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: token });
  }

  connector(token: string): Connector {
    const { url: registryUrl } = this;
    return viaRegistry({ registryUrl, environmentId: 'box', credentials: bearerToken(token) });
  }

  connect(token: string): Promise<ExecServerClient> {
    return ExecServerClient.connect(this.connector(token), { clientName: 'test', resumeTimeoutMs: 3000 });
  }

  /** Has the rendezvous read its tokens again, and waits until its log says so for the n-th time. */
  async reload(times = 1): Promise<void> {
    this.rendezvous.kill('SIGHUP');
    await expect
      .poll(() => this.rendezvous.stderr.split('"settings.reloaded"').length - 1)
      .toBeGreaterThanOrEqual(times);
  }

  /** The status with which a request of the registry is answered. */
  async status(token: string, path: string): Promise<number> {
    const init = { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: '{}' };
    return (await fetch(`${this.url}${path}`, init)).status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.environment?.stop();
    await this.rendezvous.stop();
    this.tokens[Symbol.dispose]();
  }
}

describe('through a rendezvous', () => {
  let fixture: RelayFixture;
  beforeEach(async () => {
    fixture = await RelayFixture.start();
    return () => fixture[Symbol.asyncDispose]();
  });

  it('a token may do what it names in the environment, and nothing else', async () => {
    const runner = await fixture.tokens.add('runner', 'harness,run,view', '--environments', '*');
    const plain = await fixture.tokens.add('plain', 'harness', '--environments', '*');
    const viewer = await fixture.tokens.add('viewer', 'harness,view', '--environments', '*');
    const elsewhere = await fixture.tokens.add('elsewhere', 'harness', '--environments', 'ci-*');
    await fixture.reload();

    expect(await fixture.run(runner, 'echo', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
    for (const [name, token] of Object.entries({ viewer, plain })) {
      const refused = await fixture.run(token, 'echo', 'hello');
      expect([refused.code, refused.stderr]).toEqual([
        255,
        expect.stringContaining(`process/start needs scope run, which token ${name} does not have`),
      ]);
    }
    expect(await fixture.status(elsewhere, '/cloud/environment/box/connect')).toBe(403);
  });

  it('an entry of the older form may do all but admin, as before', async () => {
    fixture.tokens.enter({ scope: 'harness', environments: ['*'] }, 'older');
    await fixture.reload();

    expect(await fixture.run('older', 'echo', 'hello')).toMatchObject({ code: 0, stdout: 'hello\n' });
  });

  it('a session belongs to the name of its token', async () => {
    const one = await fixture.tokens.add('one', 'harness', '--environments', '*', '--sessions', '1');
    const two = await fixture.tokens.add('two', 'harness', '--environments', '*');
    await fixture.reload();
    await using owner = await fixture.connect(one);
    const resumeSessionId = owner.sessionId!;

    const connector = fixture.connector(two);
    const anew: Connector = (signal) => connector(signal); // it has not reached this executor before
    const resuming = openConnection(anew, { ...plainly, resumeSessionId }, nothing, never);
    await expect(resuming).rejects.toThrow(`unknown session id ${resumeSessionId}`);
    await expect(fixture.connect(one)).rejects.toThrow('token one may have 1 session at a time');
  });

  it('no right of a server is one of the rendezvous, and none of either implies another', async () => {
    const all = await fixture.tokens.add('all', 'run,view,files,forward,approve,admin');
    const harness = await fixture.tokens.add('harness', 'harness', '--environments', '*');
    await fixture.reload();
    const statuses = (token: string) =>
      Promise.all(
        ['register', 'connect', 'validate'].map((each) => fixture.status(token, `/cloud/environment/box/${each}`)),
      );

    expect(await statuses(all)).toEqual([403, 403, 403]);
    expect(await statuses(harness)).toEqual([403, 400, 403]);
    expect(await statuses('forged')).toEqual([401, 401, 401]);
  });

  it('a harness whose token is revoked is cut off, with the reason, and connects no more', async () => {
    const [leaked, kept] = [
      await fixture.tokens.add('leaked', 'harness,run,view', '--environments', '*'),
      await fixture.tokens.add('kept', 'harness,run,view', '--environments', '*'),
    ];
    await fixture.reload();
    await using bystander = await fixture.connect(kept);
    await using client = await fixture.connect(leaked);
    const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });

    await fixture.tokens.revoke('leaked');
    await fixture.reload(2);

    await expect(process.wait()).rejects.toThrow(/401|revoked/);
    expect(await fixture.status(leaked, '/cloud/environment/box/connect')).toBe(401);
    await (await bystander.start({ argv: ['true'] })).wait();
  });

  it('a token that loses a scope loses it on the stream that is open, and keeps its session', async () => {
    const narrowed = await fixture.tokens.add('narrowed', 'harness,run,view', '--environments', '*');
    await fixture.reload();
    await using client = await fixture.connect(narrowed);
    const process = await client.start({ argv: ['cat'], io: { type: 'pipe', stdin: 'open' } });

    fixture.tokens.change('narrowed', { scopes: ['harness', 'view'] });
    await fixture.reload(2);

    const refusal = 'process/start needs scope run, which token narrowed does not have';
    await expect
      .poll(() => client.start({ argv: ['true'] }).then(() => 'started', String), { timeout: 20_000 })
      .toContain(refusal);
    expect((await client.processes()).map(({ processId }) => processId)).toContain(process.processId);
  });

  it('an environment whose token is revoked or expires is gone, and registers no more', async () => {
    const harness = await fixture.tokens.add('harness', 'harness', '--environments', '*');
    await fixture.tokens.revoke('box');
    await fixture.reload();

    await fixture.environment!.logs('rendezvous.connection_failed');
    expect(await fixture.status(harness, '/cloud/environment/box/connect')).not.toBe(200);
    await expect.poll(() => fixture.environment!.stderr).toContain('401');
  });

  it('a token that expires ends its sockets', async () => {
    const brief = await fixture.tokens.add('brief', 'harness', '--environments', '*', '--expires', '3s');
    await fixture.reload();
    await using client = await fixture.connect(brief);

    await expect(client.closed).resolves.toMatchObject({ message: expect.stringMatching(/401|expired/) });
    expect(await fixture.status(brief, '/cloud/environment/box/connect')).toBe(401);
  });
});
