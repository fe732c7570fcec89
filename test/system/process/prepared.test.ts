import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { remoteBackend } from '../../../src/agent/unified-exec/index.ts';
import { ExecServerClient } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { runCommand } from '../../support/command.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { McpFixture } from '../mcp/fixture.ts';
import { accounts, SandboxFixture, uri } from '../sandbox/fixture.ts';
import { ExecFixture } from '../unified-exec/fixture.ts';

let server: TestServer;
let client: ExecServerClient;
beforeAll(async () => {
  server = await startServer({ args: ['--allow-direct-exec=false'] });
  client = await ExecServerClient.connect(webSocket(server.url));
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

/** Values that a shell, JSON or a terminal might change, in an order of their own. */
const env = { Z: '', A: '1', 'B.C-D': 'a=b', 'two\nlines': 'x\ny', ü: '✓\u007f', EMPTY: ' ', PATH: '/usr/bin:/bin' };
const environ = Object.entries(env)
  .map(([name, value]) => `${name}=${value}\0`)
  .join('');

describe('a prepared start', () => {
  it.each([
    ['behind pipes', {}],
    ['at a terminal', { tty: true }],
    ['at a terminal of a size', { io: { type: 'pty', rows: 20, cols: 70 } as const }],
  ])('has the environment of the request, byte for byte: %s', async (_, wiring) => {
    const request = { argv: ['cat', '/proc/self/environ'], cwd: '/usr', env };
    await using process = await client.start({ mode: 'prepared', request, ...wiring });
    const { stdout, terminal } = await process.communicate();
    expect(Buffer.concat([stdout, terminal]).toString().replaceAll('\r\n', '\n')).toBe(environ);
  });

  it('has its own name and directory', async () => {
    const request = { argv: ['sh', '-c', 'echo "$0"; pwd'], cwd: '/usr', env: { PATH: '/bin' }, arg0: 'me' };
    await using process = await client.start({ mode: 'prepared', request });
    expect(Buffer.from((await process.communicate()).stdout).toString()).toBe('me\n/usr\n');
  });

  it('loses the credentials of the executor and nothing else', async () => {
    const sent = { CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: 'secret', CODEX_API_KEY: 'of the client', A: '1' };
    const request = { argv: ['/bin/cat', '/proc/self/environ'], cwd: '/', env: sent };
    await using process = await client.start({ mode: 'prepared', request });
    expect(Buffer.from((await process.communicate()).stdout).toString()).toBe('CODEX_API_KEY=of the client\0A=1\0');
  });
});

describe.each(accounts)('a prepared start in a sandbox, for a server run by $name', (account) => {
  it('has the environment of the request, byte for byte', async () => {
    await using fixture = await SandboxFixture.open(account);
    const process = await fixture.start('', {
      start: {
        mode: 'prepared',
        request: { argv: ['/bin/cat', '/proc/self/environ'], cwd: uri(fixture.workspace), env },
      },
    });
    await process.closed();
    expect(process.output('stdout')).toBe(environ);
  });
});

describe('a server that takes prepared starts alone', () => {
  it('says so', () => {
    expect([client.supports('processStartDirect'), client.supports('processStartPrepared')]).toEqual([false, true]);
  });

  it('can be used by exec-server run', async () => {
    const command = ['--', 'sh', '-c', 'cat; echo $A $HOME; ls -d /usr'];
    const options = ['run', '--connect', server.url, '-C', '/', '-e', 'A=1'];
    expect(await runCommand([...options, ...command], {}, 'typed\n')).toEqual({
      stdout: `typed\n1 ${String(client.environmentInfo?.userHomeDir?.toNative())}\n/usr\n`,
      stderr: '',
      code: 0,
    });
  });

  it('can be used by unified exec', async () => {
    await using fixture = await ExecFixture.open('server', { backends: { box: remoteBackend(webSocket(server.url)) } });
    const first = await fixture.run('read line; echo "got $line in $PWD"', { tty: true, yield_time_ms: 300 });
    const session = first.facts?.session_id;
    expect(session).toEqual(expect.any(Number));
    const answer = await fixture.type(session!, 'words\n');
    expect(await fixture.shows({ ...answer, output: first.output + answer.output }, /got words in /)).toContain(
      `got words in ${fixture.cwd}`,
    );
  });

  it('can be used by exec-server mcp', async () => {
    await using fixture = new McpFixture();
    await using user = await fixture.open(['--connect', server.url]);
    expect((await user.exec('echo hello; pwd')).structured).toMatchObject({
      exit_code: 0,
      output: `hello\n${fixture.work}\n`,
    });
  });
});
