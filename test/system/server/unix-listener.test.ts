import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ExecServerClient } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { runCommand } from '../../support/command.ts';
import { sha256 } from '../../support/digest.ts';
import { startServer, type TestServer, type TestServerOptions } from '../../support/server.ts';
import { accounts, SandboxFixture } from '../sandbox/fixture.ts';

const isRoot = process.getuid!() === 0;
const [ONE_USER, NAMED_USER, THIRD_USER] = [54_321, 54_322, 54_323];

/** A directory that every user may enter, and a server on a socket in it. */
class UnixFixture implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'unix-'));
  readonly path = join(this.folder, 'socket');
  server: TestServer | undefined;

  async start({ args = [], ...options }: TestServerOptions = {}): Promise<TestServer> {
    chmodSync(this.folder, 0o1777);
    this.server = await startServer({ ...options, args: ['--listen', `unix:${this.path}`, ...args] });
    return this.server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server?.stop();
    rmSync(this.folder, { recursive: true });
  }
}

const asking = `
const socket = require('node:net').connect(process.argv[1]);
socket.on('connect', () => socket.write('GET / HTTP/1.1\\r\\nhost: x\\r\\nconnection: upgrade\\r\\nupgrade: websocket\\r\\nsec-websocket-version: 13\\r\\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\n\\r\\n'));
socket.on('data', (data) => { console.log(String(data).split('\\r\\n')[0].split(' ')[1]); process.exit(); });
socket.on('error', (error) => { console.log(error.code); process.exit(); });
`;

/** The status with which a server answers a program of a user, or the error of its connection. */
async function answerTo(path: string, uid: number): Promise<string> {
  const child = spawn(process.execPath, ['-e', asking, path], {
    uid,
    gid: uid,
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
  });
  return (await text(child.stdout)).trim();
}

describe('a unix: listener', () => {
  it('serves clients of its user, and removes the socket when it stops', async () => {
    await using fixture = new UnixFixture();
    const server = await fixture.start();

    expect(server.url).toBe(`unix:${fixture.path}`);
    expect(statSync(fixture.path).mode & 0o777).toBe(0o600);
    await using client = await ExecServerClient.connect(webSocket(server.url));
    const process = await client.start({ argv: ['/bin/echo', 'hello'], cwd: '/', env: {} });
    expect((await process.communicate()).stdout.toString()).toBe('hello\n');
    expect(await runCommand(['run', '--connect', server.url, '--', '/bin/echo', 'again'])).toMatchObject({
      code: 0,
      stdout: 'again\n',
    });

    await server.stop();
    expect(existsSync(fixture.path)).toBe(false);
  });

  it('asks for a token where one is wanted, in an address with the token too', async () => {
    await using fixture = new UnixFixture();
    const { url } = await fixture.start({
      args: ['--ws-auth', 'capability-token', '--ws-token-sha256', sha256('secret')],
    });
    const never = new AbortController().signal;

    await expect(webSocket(url)(never)).rejects.toThrow(
      `cannot connect to ${url}: the server refused the connection (HTTP 401)`,
    );
    (await webSocket(`${url}#token=secret`)(never)).destroy();
  });

  it('prints an address that clients take, with a fresh token', async () => {
    await using fixture = new UnixFixture();
    const { url } = await fixture.start({ args: ['--print-token-url'] });

    expect(url).toMatch(/^unix:\/.*\/socket#token=/);
    (await webSocket(url)(new AbortController().signal)).destroy();
  });

  it.skipIf(!isRoot)('is closed to other users by its mode (another user needs root)', async () => {
    await using fixture = new UnixFixture();
    await fixture.start();

    expect(await answerTo(fixture.path, 0)).toBe('101');
    expect(await answerTo(fixture.path, ONE_USER)).toBe('EACCES');
  });

  it.skipIf(!isRoot)('of root serves the user that the setting names (another user needs root)', async () => {
    await using fixture = new UnixFixture();
    await fixture.start({ args: ['--unix-peer-uid', `${NAMED_USER}`] });

    expect(await answerTo(fixture.path, NAMED_USER)).toBe('101');
    expect(await answerTo(fixture.path, THIRD_USER)).toBe('EACCES');
  });

  it.skipIf(!isRoot)(
    'of a user serves the named one by its credentials, and not root (another user needs root)',
    async () => {
      await using fixture = new UnixFixture();
      await fixture.start({ uid: ONE_USER, args: ['--unix-peer-uid', `${NAMED_USER}`] });

      expect(await answerTo(fixture.path, ONE_USER)).toBe('101');
      expect(await answerTo(fixture.path, NAMED_USER)).toBe('101');
      expect(await answerTo(fixture.path, THIRD_USER)).toBe('403');
      expect(await answerTo(fixture.path, 0)).toBe('403');
    },
  );

  it('refuses its own commands, which could start others outside their sandbox', async () => {
    await using fixture = new UnixFixture();
    const { url } = await fixture.start();
    await using client = await ExecServerClient.connect(webSocket(url));

    const process = await client.start({
      argv: [globalThis.process.execPath, '-e', asking, fixture.path],
      cwd: '/',
      env: {},
    });

    expect((await process.communicate()).stdout.toString()).toBe('403\n');
  });

  it('replaces the socket of a server that was killed', async () => {
    await using fixture = new UnixFixture();
    const killed = await fixture.start();
    await killed.stop('SIGKILL');
    expect(existsSync(fixture.path)).toBe(true);

    const { url } = await fixture.start();

    (await webSocket(url)(new AbortController().signal)).destroy();
  });

  it('that stops leaves the socket of another server that has taken its path', async () => {
    await using fixture = new UnixFixture();
    const first = await fixture.start();
    rmSync(fixture.path);
    const second = await fixture.start();

    await first.stop();

    (await webSocket(second.url)(new AbortController().signal)).destroy();
    expect(readdirSync(fixture.folder)).toEqual(['socket']);
  });

  it('leaves a socket in use, a file and an open directory alone', async () => {
    await using fixture = new UnixFixture();
    const [used, file, open] = ['used', 'file', 'open/socket'].map((name) => join(fixture.folder, name)) as [
      string,
      string,
      string,
    ];
    const other = createServer().listen(used);
    await once(other, 'listening');
    writeFileSync(file, 'precious');
    mkdirSync(join(fixture.folder, 'open'));
    chmodSync(join(fixture.folder, 'open'), 0o777);
    const complaint = async (path: string) => (await runCommand(['--listen', `unix:${path}`])).stderr;

    expect(await complaint(used)).toContain(
      `cannot listen on ${used}: another program listens there; choose another path`,
    );
    expect(await complaint(file)).toContain(`cannot listen on ${file}: a file that is not a socket is there`);
    expect(await complaint(open)).toContain(`cannot listen on ${open}: every user can write to`);
    expect(await complaint(join(fixture.folder, 'none/socket'))).toContain('there is no directory');
    other.close();
  });
});

describe.each(accounts)('the socket of the server of $name', (account) => {
  it('is out of reach of its sandboxed commands, and of those of another server', async () => {
    await using folder = new UnixFixture();
    chmodSync(folder.folder, 0o1777);
    await using own = await SandboxFixture.open(
      account,
      {},
      { args: ['--listen', `unix:${folder.path}`, '--unix-peer-uid', `${process.getuid!()}`] },
    );
    await using other = await SandboxFixture.open(account);
    own.write('workspace/ask.js', asking);
    other.write('workspace/ask.js', asking);
    const ask = { argv: [process.execPath, 'ask.js', folder.path], network: 'enabled' } as const;

    const { stdout } = await own.run('', { ...ask, argv: [process.execPath, '-e', asking, folder.path] });
    const { stdout: elsewhere } = await other.run('', { ...ask, argv: [process.execPath, '-e', asking, folder.path] });

    expect(stdout.trim()).toMatch(/^(ENOENT|ECONNREFUSED|EACCES)$/);
    expect(elsewhere.trim()).toBe('403');
  });
});
