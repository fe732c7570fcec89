import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { argumentsOf } from '../../support/proc.ts';
import { BackgroundProgram, RunningRendezvous } from '../../support/remote-programs.ts';
import { serverProgram, startServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';

let rendezvous: RunningRendezvous;
let folder: string;
beforeAll(async () => {
  rendezvous = await RunningRendezvous.start();
  folder = await mkdtemp(join(tmpdir(), 'exec-server-remote-'));
});
afterAll(async () => {
  await rendezvous[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const at = (id: string): string[] => ['--remote', rendezvous.url, '--environment-id', id];
const run = (id: string, ...command: string[]) =>
  runCommand(['run', ...at(id), '--', ...command], rendezvous.harness, 'input\n');

describe('exec-server --remote', () => {
  it('lets run and cp work on a machine that they cannot reach', async () => {
    await using environment = await rendezvous.environment('box');
    const [here, there] = [join(folder, 'here'), join(folder, 'there')];
    await writeFile(here, 'copied through the relay');

    expect(await run('box', 'sh', '-c', 'cat; echo trouble >&2; exit 5')).toEqual({
      code: 5,
      stdout: 'input\n',
      stderr: 'trouble\n',
    });
    const copied = await runCommand(['cp', ...at('box'), here, `env:${there}`], rendezvous.harness);
    expect([copied.code, copied.stderr]).toEqual([0, '']);
    expect(await readFile(there, 'utf8')).toBe('copied through the relay');
    expect([await environment.stop(), environment.stdout]).toEqual([0, '']);
  });

  it('is waited for, and run says so on a terminal', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const token = join(folder, 'harness-token');
    await writeFile(token, rendezvous.token('harness'), { mode: 0o600 });
    const argv = [process.execPath, serverProgram, 'run', ...at('missing'), '--token-file', token, '--', 'true'];

    const waiting = await client.start({ argv, env: { PATH: process.env.PATH! }, tty: true });

    await waiting.printed('waiting for environment missing: ');
    await client.call('process/terminate', { processId: waiting.id });
    await waiting.closed();
  });

  it('keeps its credentials from what it runs, and out of its log', async () => {
    await using environment = await rendezvous.environment('quiet');

    const { stdout } = await run('quiet', 'env');

    expect(stdout).toContain('PATH=');
    expect(stdout).not.toContain('CODEX_API_KEY');
    await environment.stop();
    expect(environment.stderr).toContain('relay.stream_opened');
    expect(environment.stderr).not.toContain(rendezvous.token('executor'));
    expect(environment.stderr).not.toContain(rendezvous.token('harness'));
    expect(environment.stderr).not.toMatch(/role=|sig=/);
  });

  it('goes on with a command after both ends had to come back', async () => {
    await using _environment = await rendezvous.environment('steady');
    const go = join(folder, 'go');
    const script = `echo one; until [ -e ${go} ]; do sleep 0.05; done; echo two; sleep 1; echo three`;
    const args = ['run', ...at('steady'), '--', 'sh', '-c', script];
    await using harness = new BackgroundProgram({ args, env: rendezvous.harness });
    expect(await harness.line()).toBe('one');

    await rendezvous.expel('steady');
    await writeFile(go, '');

    expect([await harness.ended, harness.stdout, harness.stderr]).toEqual([0, 'one\ntwo\nthree\n', '']);
  });

  it('takes tokens from its input, and ends with it', async () => {
    const frame = (changes: object): string =>
      `${JSON.stringify({ version: 1, environment_id: 'piped', token: rendezvous.token('executor'), expires_at: 4_102_444_800, ...changes })}\n`;
    const args = [...at('piped'), '--executor-credential-stdin'];
    const good = new BackgroundProgram({ args });
    good.stdin.write(frame({}));
    await good.logs('rendezvous.connected');
    good.stdin.end();
    const bad = new BackgroundProgram({ args });
    bad.stdin.write(frame({ environment_id: 'other' }));

    expect(await good.ended).toBe(0);
    expect([await bad.ended, bad.stderr]).toEqual([
      1,
      expect.stringContaining('Error: executor credential is for a different environment\n'),
    ]);
  });

  it('ends with its input if it is told to', async () => {
    const environment = await rendezvous.environment('attached', '--exit-on-stdin-close');
    environment.stdin.end();

    expect(await environment.ended).toBe(0);
  });

  it('takes a token from a file, and says when the registry does not know it', async () => {
    const file = join(folder, 'token');
    await writeFile(file, 'unknown-token\n');

    const { code, stdout, stderr } = await runCommand([...at('box'), '--remote-token-file', file]);

    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Error: environment registry authentication failed \(401 Unauthorized\)/);
  });

  it('says which registry refuses a harness, and blames neither the command nor the path', async () => {
    const file = join(folder, 'token');
    await writeFile(file, 'unknown-token\n');
    const args = [...at('box'), '--token-file', file];
    const refused = `Error: environment registry authentication failed (401 Unauthorized) at ${rendezvous.url}/cloud/environment/box/connect`;

    expect((await runCommand(['run', ...args, '--', 'true'])).stderr).toContain(refused);
    expect((await runCommand(['cp', ...args, 'env:/etc/hostname', folder])).stderr).toContain(refused);
  });

  it.each([
    [['--remote', 'http://127.0.0.1:1'], 2, '--remote requires --environment-id'],
    [['--remote', 'http://127.0.0.1:1', '--environment-id', 'x', '--listen', 'stdio'], 2, '--listen'],
    [['--environment-id', 'x'], 2, 'only together with --remote'],
    [['--remote', 'x', '--environment-id', 'x', '--remote-transport', 'pigeon'], 2, "'pigeon'"],
    [['--remote', 'x', '--environment-id', 'x', '--remote-transport', 'direct'], 2, 'requires --aws-sigv4'],
    [['--remote', 'x', '--environment-id', 'x', '--aws-sigv4'], 2, '--aws-sigv4 requires --remote-transport direct'],
    [['--remote', 'x', '--environment-id', 'x', '--register-timeout', 'soon'], 2, "'soon'"],
    [['--remote', 'x', '--environment-id', ' '], 2, 'environment id is required'],
    [['--remote', 'ws://127.0.0.1:1', '--environment-id', 'x'], 2, 'invalid environment registry base URL'],
    [['--remote', 'https://example.com', '--environment-id', 'x'], 1, 'API-key authentication is restricted'],
    [['forward', '--remote', 'x', '--environment-id', 'x'], 2, '--connect is required'],
    [
      ['forward', '--remote', 'http://127.0.0.1:1', '--environment-id', 'x', '--connect', 'http://x'],
      2,
      'must be a ws:// or wss:// URL',
    ],
    [
      ['forward', '--remote', 'x', '--environment-id', 'x', '--connect', 'box'],
      2,
      "invalid value 'box' for --connect: expected ws://HOST:PORT, wss://HOST:PORT or unix:/PATH",
    ],
    [['run', '--remote', 'http://127.0.0.1:1', '--', 'true'], 2, '--remote and --environment-id are needed together'],
    [['cp', '--remote', 'x', '--environment-id', 'x', '--connect', 'y', 'a', 'env:/b'], 2, 'together with --connect'],
    [['run', '--remote', 'x', '--environment-id', 'x', '--', 'true'], 2, 'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN'],
    [
      ['run', '--remote', 'x', '--environment-id', 'x', '--token-file', '/etc/passwd', '--', 'true'],
      2,
      'invalid environment registry base URL `x`',
    ],
  ])('says what is wrong with %j', async (args, code, reason) => {
    const outcome = await runCommand(args, { CODEX_API_KEY: 'key', CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: '' });

    expect([outcome.code, outcome.stdout]).toEqual([code, '']);
    expect(outcome.stderr).toContain(reason);
  });

  it('says on a terminal that it has registered', async () => {
    await using server = await startServer();
    await using client = await connect(server.url);
    const argv = [process.execPath, serverProgram, ...at('seen')];
    const env = { CODEX_API_KEY: rendezvous.token('executor') };

    const environment = await client.start({ argv, env, tty: true });

    expect(await environment.printed('\n')).toBe(`registered as seen with ${rendezvous.url}\r\n`);
  });

  it('says which credentials it looked for', async () => {
    const { code, stderr } = await runCommand(at('box'), { CODEX_HOME: folder });

    expect([code, stderr]).toEqual([1, expect.stringContaining('run `codex login`, set CODEX_API_KEY')]);
  });

  it('explains itself', async () => {
    const [serve, forward] = await Promise.all([runCommand(['--help']), runCommand(['forward', '--help'])]);

    for (const flag of ['--remote', '--environment-id', '--executor-credential-stdin', '--register-timeout']) {
      expect(serve.stdout).toContain(` ${flag}`);
      expect(forward.stdout).toContain(` ${flag}`);
    }
    expect(forward.stdout).toContain(' --connect');
  });
});

describe('exec-server forward', () => {
  it('registers a server that is running already', async () => {
    await using server = await startServer();
    await using forward = await rendezvous.environment('lent', 'forward', '--connect', server.url);

    expect(await run('lent', 'sh', '-c', 'cat; exit 4')).toEqual({ code: 4, stdout: 'input\n', stderr: '' });
    expect(await forward.stop()).toBe(0);
  });

  it('presents the token of a file, a URL or the environment to a server that asks for one, and shows it to no other user', async () => {
    await using server = await startServer({ args: ['--print-token-url'] });
    const [plain = '', token = ''] = server.url.split('/#token=');
    const file = join(folder, 'server-token');
    await writeFile(file, `${token}\n`, { mode: 0o600 });

    await using byUrl = await rendezvous.environment('by-url', 'forward', '--connect', server.url);
    await using _byFile = await rendezvous.environment('by-file', 'forward', '--connect', plain, '--token-file', file);
    await using byVariable = new BackgroundProgram({
      args: ['forward', '--connect', plain, ...at('by-variable')],
      env: { CODEX_API_KEY: rendezvous.token('executor'), EXEC_SERVER_TOKEN: token },
    });
    await byVariable.logs('rendezvous.connected');

    for (const id of ['by-url', 'by-file', 'by-variable']) expect(await run(id, 'cat')).toMatchObject({ code: 0 });
    expect(argumentsOf(byUrl.pid).join(' ')).not.toContain(token);
  });
});
