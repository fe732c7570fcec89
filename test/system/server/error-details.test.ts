import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ExecServerClient, failureReason, RemoteFileSystem } from '../../../src/client/index.ts';
import { webSocket } from '../../../src/link/index.ts';
import { PathUri } from '../../../src/protocol/index.ts';
import { runCommand } from '../../support/command.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { type ConnectOptions, connect, type WebSocketClient } from '../../support/wire-client.ts';

let server: TestServer;
let folder: string;
beforeAll(async () => {
  server = await startServer();
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-details-')));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const uri = (name: string): string => pathToFileURL(join(folder, name)).href;

/** The error as it came over the wire. */
async function errorOf(client: WebSocketClient, method: string, params: object): Promise<unknown> {
  const answer = new Promise((resolve) => {
    client.socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as { id?: number; error?: unknown };
      if (message.id === 4242) resolve(message.error);
    });
  });
  client.raw(JSON.stringify({ id: 4242, method, params }));
  return await answer;
}

const start = (more: object) => ({
  processId: crypto.randomUUID(),
  argv: ['/bin/true'],
  cwd: 'file:///',
  env: { PATH: '/usr/bin:/bin' },
  tty: false,
  ...more,
});
const missing = 'No such file or directory (os error 2)';

describe('the details of an error', () => {
  let asking: WebSocketClient;
  let plain: WebSocketClient;
  const opened = async (options?: ConnectOptions): Promise<WebSocketClient> => {
    const client = await connect(server.url, options);
    onTestFinished(() => client[Symbol.asyncDispose]());
    return client;
  };
  beforeEach(async () => {
    asking = await opened({ initializeParams: { capabilities: { errorDetails: true } } });
    plain = await opened();
    writeFileSync(join(folder, 'file'), '');
  });

  it.each<[string, string, object, { code: number; message: string }, object]>([
    [
      'a command that is nowhere on the PATH',
      'process/start',
      start({ argv: ['nosuch'] }),
      { code: -32603, message: missing },
      { errno: 'ENOENT', subject: 'program', searched: '/usr/bin:/bin' },
    ],
    [
      'a command without a PATH',
      'process/start',
      start({ argv: ['nosuch'], env: {} }),
      { code: -32603, message: missing },
      { errno: 'ENOENT', subject: 'program', searched: '/usr/local/bin:/bin:/usr/bin' },
    ],
    [
      'a program that is not there',
      'process/start',
      start({ argv: ['/no/such'] }),
      { code: -32603, message: missing },
      { errno: 'ENOENT', subject: 'program', path: 'file:///no/such' },
    ],
    [
      'a directory that is not there',
      'process/start',
      start({ cwd: 'file:///no/such' }),
      { code: -32603, message: missing },
      { errno: 'ENOENT', subject: 'cwd', path: 'file:///no/such' },
    ],
    [
      'a command at a terminal',
      'process/start',
      start({ argv: ['nosuch'], tty: true }),
      { code: -32603, message: 'Unable to spawn nosuch because:\nNo viable candidates found in PATH "/usr/bin:/bin"' },
      { errno: 'ENOENT', subject: 'program', searched: '/usr/bin:/bin' },
    ],
    [
      'a directory of another host',
      'process/start',
      start({ cwd: 'file:///C:/x' }),
      {
        code: -32602,
        message: "cwd URI `file:///C:/x` is not valid on this exec-server host: 'file:///C:/x' is invalid on 'linux'",
      },
      { subject: 'cwd', path: 'file:///C:/x' },
    ],
    [
      'a sandbox of another host',
      'process/start',
      start({ sandbox: { permissions: { type: 'disabled' }, windowsSandboxLevel: 'disabled', cwd: 'file:///C:/x' } }),
      {
        code: -32602,
        message:
          "sandbox cwd URI `file:///C:/x` is not valid on this exec-server host: 'file:///C:/x' is invalid on 'linux'",
      },
      { subject: 'sandbox', path: 'file:///C:/x' },
    ],
    [
      'a file that is not there',
      'fs/readFile',
      { path: 'file:///no/such' },
      { code: -32004, message: missing },
      { errno: 'ENOENT', path: 'file:///no/such' },
    ],
    [
      'a file that is to be opened',
      'fs/open',
      { handleId: 'h', path: 'file:///no/such' },
      { code: -32004, message: missing },
      { errno: 'ENOENT', path: 'file:///no/such' },
    ],
    [
      'a directory that is no directory',
      'fs/readDirectory',
      { path: 'file:///dev/null' },
      { code: -32603, message: 'Not a directory (os error 20)' },
      { errno: 'ENOTDIR', path: 'file:///dev/null' },
    ],
  ])('name %s, and only for a client that asks', async (_, method, params, error, data) => {
    expect(await errorOf(asking, method, params)).toEqual({ ...error, data });
    expect(await errorOf(plain, method, params)).toEqual(error);
  });

  it('say nothing of which of two paths it was', async () => {
    const rename = { sourcePath: uri('file'), destinationPath: uri('no/such') };
    expect(await errorOf(asking, 'fs/rename', rename)).toEqual({
      code: -32004,
      message: missing,
      data: { errno: 'ENOENT' },
    });
  });

  it('are what the client makes its sentences of', async () => {
    await using client = await ExecServerClient.connect(webSocket(server.url));
    const files = new RemoteFileSystem(client);
    const reasons = await Promise.all(
      [
        client.start({ argv: ['nosuch'], env: { PATH: '/bin' } }),
        client.start({ argv: ['ls'], cwd: '/no/such' }),
        files.readFile(PathUri.fromNative('/no/such')),
      ].map((failing) => (failing as Promise<unknown>).catch(failureReason)),
    );
    expect(reasons).toEqual([
      'command not found on PATH (/bin)',
      'its directory /no/such does not exist',
      '/no/such: no such file or directory',
    ]);
  });
});

describe('exec-server run', () => {
  it.each([
    [['-e', 'PATH=/usr/bin:/bin', '--', 'nosuch'], 'cannot start nosuch: command not found on PATH (/usr/bin:/bin)'],
    [['-C', '/no/such', '--', 'ls'], 'cannot start ls: its directory /no/such does not exist'],
    [['-C', '/dev/null', '--', 'ls'], 'cannot start ls: its directory /dev/null is not a directory'],
    [['--', '/no/such'], 'cannot start /no/such: there is no file /no/such, or its interpreter is missing'],
    [['--', './nosuch'], 'cannot start ./nosuch: there is no such file'],
  ])('says what is wrong with %j', async (args, reason) => {
    expect(await runCommand(['run', '--connect', server.url, ...args])).toEqual({
      stdout: '',
      stderr: `Error: ${reason}\n`,
      code: 255,
    });
  });
});
