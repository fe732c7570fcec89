import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand, startWatched } from '../../support/command.ts';
import { startServer } from '../../support/server.ts';
import { connect } from '../../support/wire-client.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exec-server-cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

const flags = [
  '--listen',
  '--ws-auth',
  '--ws-token-file',
  '--ws-token-sha256',
  '--ws-shared-secret-file',
  '--ws-issuer',
  '--ws-audience',
  '--ws-max-clock-skew-seconds',
  '--allow-unauthenticated',
  '--config',
  '--shutdown-grace-period-ms',
  '--max-processes-per-connection',
  '--retained-output-bytes-per-process',
  '--allow-direct-exec',
  '--allow-prepared-exec',
  '--max-connections',
  '--detached-session-ttl-ms',
  '--concurrent-requests',
  '--no-fast-path',
  '--help',
  '--version',
];

describe('the command line', () => {
  it('shows every flag in its help', async () => {
    const { code, stdout, stderr } = await runCommand(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const flag of flags) expect(stdout).toContain(` ${flag}`);
  });

  it('shows its version', async () => {
    expect(await runCommand(['--version'])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^exec-server \d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  it.each([
    [['--no-such-flag'], "'--no-such-flag'"],
    [['--concurrent-requests', '0'], "error: invalid value '0' for --concurrent-requests"],
    [['--concurrent-requests', 'many'], "error: invalid value 'many' for --concurrent-requests"],
    [['--allow-direct-exec=maybe'], "error: invalid value 'maybe' for --allow-direct-exec"],
    [['frobnicate'], "error: unknown command 'frobnicate'"],
    [['--config', '/no/such/file.toml'], 'error: cannot read settings from /no/such/file.toml'],
    [['doctor', 'network'], "error: unexpected argument 'network'"],
    [
      ['--listen', 'http://127.0.0.1:0'],
      'error: unsupported --listen URL `http://127.0.0.1:0`; expected `ws://IP:PORT`, `wss://IP:PORT`, `unix:/PATH`, `systemd:NAME`, `fd:N` or `stdio`',
    ],
    [
      ['--listen', 'ws://localhost:0'],
      'error: invalid websocket --listen URL `ws://localhost:0`; expected `ws://IP:PORT`',
    ],
    [
      ['--listen', 'stdio', '--ws-auth', 'capability-token', '--ws-token-sha256', '0'.repeat(64)],
      'error: WebSocket auth requires a WebSocket listener, not stdio',
    ],
    [['--ws-issuer', 'i'], 'error: websocket auth flags require `--ws-auth capability-token`'],
    [
      ['--ws-auth', 'capability-token', '--ws-token-sha256', 'abc'],
      'error: --ws-token-sha256 must be a 64-character hex SHA-256 digest',
    ],
    [
      ['--ws-auth', 'capability-token'],
      'error: `--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set',
    ],
    [
      ['--ws-auth', 'signed-bearer-token'],
      'error: `--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set',
    ],
  ])('calls %j wrong usage and exits with 2', async (args, reason) => {
    const { code, stdout, stderr } = await runCommand(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(reason);
  });

  it.each([
    ['/no/such', 'failed to read websocket auth secret /no/such: No such file or directory (os error 2)'],
    ['/dev/null', 'websocket auth secret /dev/null must not be empty'],
  ])('says why it cannot serve with the token file %s and exits with 1', async (file, reason) => {
    const args = ['--ws-auth', 'capability-token', '--ws-token-file', file];
    expect(await runCommand(args)).toEqual({ code: 1, stdout: '', stderr: `Error: ${reason}\n` });
  });

  it.each([
    [[]],
    [['rendezvous']],
    [['mcp']],
    [['mcp', '--tools', 'shell']],
    [['forward', '--connect', 'ws://127.0.0.1:1', '--remote', 'http://127.0.0.1:1', '--environment-id', 'x']],
  ])('refuses a log level that does not exist and names those that do: %j', async (args) => {
    const { code, stderr } = await runCommand(args, { EXEC_SERVER_LOG: 'foo' });
    expect(stderr).toContain("error: invalid value 'foo' for EXEC_SERVER_LOG: expected debug, info, warn or error");
    expect(code).toBe(2);
  });

  it.each([
    [['mcp', '--nope'], 'exec-server mcp --help'],
    [['mcp', '--tools', 'shell', '--nope'], 'exec-server mcp --tools shell --help'],
    [['mcp', '--tools=shell', '--sandbox', 'none'], 'exec-server mcp --tools shell --help'],
  ])('leads from wrong usage to the help with the right options: %j', async (args, help) => {
    expect((await runCommand(args)).stderr).toContain(`try '${help}'.`);
    expect((await runCommand(help.split(' ').slice(1))).code).toBe(0);
  });

  it('refuses to listen beyond loopback without authentication, unless told to', async () => {
    const { code, stdout, stderr } = await runCommand(['--listen', 'ws://0.0.0.0:0']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^Error: refusing to listen on 0\.0\.0\.0 without authentication: .*--allow-unauthenticated/,
    );
  });

  it('says that its port is taken', async () => {
    await using server = await startServer();
    const { code, stderr } = await runCommand(['--listen', server.url]);
    expect(code).toBe(1);
    const address = server.url.slice('ws://'.length);
    const why = 'another program listens there; choose another port, or port 0 for a free one (EADDRINUSE)';
    expect(stderr).toBe(`Error: cannot listen on ${address}: ${why}\n`);
  });

  it('prints its address in one line and nothing more, whatever it is asked to do', async () => {
    const server = await startWatched();
    const client = await connect(server.url);
    const starts = Array.from({ length: 30 }, () => client.start({ argv: ['cat'], pipeStdin: true }));
    const [process] = await Promise.all(starts);
    for (let n = 0; n < 30; n++) {
      for (const method of ['process/read', 'process/wait']) {
        client.call(method, { processId: process!.id, waitMs: 600_000 }).catch(() => {}); // the server stops first
      }
    }
    await client.call('environment/status');
    expect(server.url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+$/);
    expect(await server.stop()).toEqual({ code: 0, stdout: `${server.url}\n`, stderr: '' });
  });
});

describe('a setting', () => {
  const directIsRefused = async (options: { args?: string[]; env?: NodeJS.ProcessEnv }): Promise<boolean> => {
    await using server = await startServer(options);
    await using client = await connect(server.url);
    const refusal = await client.start({ argv: ['true'] }).then(
      () => '',
      (error: Error) => error.message,
    );
    return refusal.includes('allowDirectExec');
  };

  it('comes from a flag before the environment before the file', async () => {
    const file = join(folder, 'exec-server.toml');
    await writeFile(file, 'allow_direct_exec = false\n');
    const env = { EXEC_SERVER_ALLOW_DIRECT_EXEC: 'true' };
    expect(await directIsRefused({ args: ['--config', file] })).toBe(true);
    expect(await directIsRefused({ env: { EXEC_SERVER_CONFIG: file } })).toBe(true);
    expect(await directIsRefused({ args: ['--config', file], env })).toBe(false);
    expect(await directIsRefused({ args: ['--allow-direct-exec', 'false'], env })).toBe(true);
  });

  it('comes from the usual file where there is one', async () => {
    await mkdir(join(folder, 'exec-server'));
    await writeFile(join(folder, 'exec-server', 'exec-server.toml'), 'allow_direct_exec = false\n');
    expect(await directIsRefused({ env: { XDG_CONFIG_HOME: folder } })).toBe(true);
  });

  it('that is unknown is named together with those that exist', async () => {
    const file = join(folder, 'wrong.toml');
    await writeFile(file, 'allow_everything = true\n');
    const { code, stderr } = await runCommand(['--config', file]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `error: unknown setting allow_everything in ${file}:1; settings are shutdown_grace_period_ms,`,
    );
  });
});
