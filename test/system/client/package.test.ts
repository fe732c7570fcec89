import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBash, Installation } from './package-fixture.ts';

const tagScript = fileURLToPath(new URL('../../../scripts/release-tag.mjs', import.meta.url));
let installed: Installation;

beforeAll(async () => {
  installed = await Installation.create();
});

afterAll(async () => {
  await installed?.[Symbol.asyncDispose]();
});

describe('the package, installed where there is no compiler', () => {
  it('runs no script of any package at installation', () => {
    const running = Object.entries(installed.packages).filter(([, { hasInstallScript }]) => hasInstallScript);

    expect(Object.keys(installed.packages)).toContain('node_modules/exec-server');
    expect(running).toEqual([]);
  });

  it('lets all its parts be imported', async () => {
    const { specifiers, outcome } = await installed.importAll();

    expect(specifiers).toContain('exec-server/client');
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
  });

  it('has declarations that a strict compiler takes, without those of the packages it uses', async () => {
    expect(await installed.checkDeclarations()).toMatchObject({ code: 0, stdout: '' });
  });

  it('serves, and runs a command on the server', async () => {
    await using server = await installed.serve();

    const outcome = await installed.run('run', '--connect', server.url, '--', '/bin/echo', 'hello');

    expect(outcome).toMatchObject({ code: 0, stdout: 'hello\n' });
  });

  it('serves the tools of a model, and runs a command in a sandbox', async () => {
    await using client = disposable(await installed.mcp());

    const { tools } = await client.listTools();
    const args = { cmd: 'echo hello', login: false };
    const answer = await client.callTool({ name: 'exec_command', arguments: args });

    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['exec_command', 'write_stdin']));
    expect(answer.structuredContent).toMatchObject({ exit_code: 0, output: 'hello\n' });
  });

  it.each(hasBash ? ['all', 'bash'] : ['all'])('serves the shell tool with --intercept=%s', async (intercept) => {
    await using client = disposable(await installed.mcp('--tools', 'shell', '--intercept', intercept));

    const { tools } = await client.listTools();
    const answer = await client.callTool({
      name: 'shell',
      arguments: { command: '/bin/echo hello', workdir: '/', login: false },
    });

    expect(tools.map(({ name }) => name)).toEqual(['shell']);
    expect(answer.structuredContent).toMatchObject({ exit_code: 0, output: 'hello\n' });
  });

  it('says what is missing on a platform it was not built for', async () => {
    const reason =
      /^Error: the native addon cannot be used \(this package has no exec_native\.node for linux-\w+-\w+\): build it from its source here/;

    const [served, ran] = await installed.withoutNativeFiles(() =>
      Promise.all([installed.run('--listen', 'ws://127.0.0.1:0'), installed.run('run', '--', 'ls')]),
    );

    expect(served).toMatchObject({ code: 1, stderr: expect.stringMatching(reason) });
    expect(ran).toMatchObject({ code: 255, stderr: expect.stringMatching(reason) });
  });
});

describe('a program bundled from the package', () => {
  /** Every name that embedders are promised, and a command on a server of its own. */
  const program = `
    import { ExecServerClient, type ExecServerClientConnectOptions, ExecServerError, RemoteFileSystem } from 'exec-server/client';
    import { webSocket } from 'exec-server/link';
    import { type Params, PathUri, type Result, type Sandbox } from 'exec-server/protocol';
    import { type RemoteEnvironmentConfig, type RemoteExecServerConnectArgs, runRemoteEnvironment } from 'exec-server/remote';
    import { DEFAULT_LISTEN_URL, ExecServerListenUrlParseError, type ExecServerRuntimePaths, runMain } from 'exec-server/server';

    const runtimePaths: ExecServerRuntimePaths = { native: process.argv[2]! };
    const options: ExecServerClientConnectOptions = { clientName: 'bundled' };
    const remote: Partial<RemoteEnvironmentConfig & RemoteExecServerConnectArgs> = { environmentId: 'e' };
    const stop = new AbortController();
    const facts: unknown[] = [DEFAULT_LISTEN_URL, typeof runRemoteEnvironment, remote.environmentId];
    await runMain({ listenUrl: 'http://x', environment: {} }, stop.signal).catch((error: unknown) =>
      facts.push(error instanceof ExecServerListenUrlParseError),
    );
    let announced!: (url: string) => void;
    const address = new Promise<string>((resolve) => { announced = resolve; });
    const served = runMain({ listenUrl: DEFAULT_LISTEN_URL, runtimePaths, environment: process.env, announce: announced }, stop.signal);
    const client = await ExecServerClient.connect(webSocket(await address), options);
    const start: Params<'process/start'> = { processId: 'p', argv: ['/bin/echo', 'hello'], cwd: PathUri.fromNative('/'), env: {}, tty: false };
    const started: Result<'process/start'> = await client.request('process/start', start);
    facts.push(started.sandboxType);
    const echo = await client.start({ argv: ['/bin/echo', 'hello'] });
    const { stdout, exitCode } = await echo.communicate();
    facts.push(new TextDecoder().decode(stdout), exitCode);
    const cwd = PathUri.fromNative(process.cwd());
    const sandbox: Sandbox = {
      permissions: {
        type: 'managed',
        network: 'restricted',
        file_system: { type: 'restricted', entries: [
          { path: { type: 'special', value: { kind: 'root' } }, access: 'read' },
          { path: { type: 'path', path: cwd }, access: 'write' },
        ] },
      },
      windowsSandboxLevel: 'disabled',
      cwd,
    };
    const files = new RemoteFileSystem(client);
    await files.writeFile(PathUri.fromNative(process.cwd() + '/made'), new TextEncoder().encode('x'), { sandbox });
    const own = PathUri.fromNative(process.argv[1]!);
    await files.writeFile(own, new Uint8Array(), { sandbox }).catch((error: unknown) =>
      facts.push(error instanceof ExecServerError && error.message),
    );
    await client.close();
    stop.abort();
    await served;
    console.log(JSON.stringify(facts));
  `;

  let bundled: { file: string; native: string };
  beforeAll(async () => {
    bundled = await installed.bundle(program);
  });

  it('has all that embedders are promised, and serves with native parts of its own', async () => {
    const { file, native } = bundled;

    const { code, stdout, stderr } = await installed.runFile(file, native);

    expect({ code, stderr, facts: stdout && JSON.parse(stdout) }).toEqual({
      code: 0,
      stderr: '',
      facts: [
        'ws://127.0.0.1:0',
        'function',
        'e',
        true,
        'none',
        'hello\n',
        0,
        'Read-only file system (os error 30)', // its own code
      ],
    });
  });

  it('says which directory has no native parts', async () => {
    const { code, stderr } = await installed.runFile(bundled.file, '/nowhere');

    expect(code).toBe(1);
    expect(stderr).toContain(
      'the native addon cannot be used (/nowhere has no exec_native.node): name the directory of the native parts (ExecServerRuntimePaths)',
    );
  });
});

describe('the tag of a release', () => {
  it.each([
    ['v1.2.3', '1.2.3', { status: 0, stdout: 'dist-tag=latest\n', stderr: '' }],
    ['v1.2.3-alpha.4', '1.2.3-alpha.4', { status: 0, stdout: 'dist-tag=alpha\n', stderr: '' }],
    ['v1.2.4', '1.2.3', { status: 1, stdout: '', stderr: 'the tag is v1.2.4, but package.json says 1.2.3\n' }],
    [
      'v1.2.3-beta.1',
      '1.2.3',
      { status: 1, stdout: '', stderr: 'v1.2.3-beta.1 is neither vX.Y.Z nor vX.Y.Z-alpha.N\n' },
    ],
  ])('%s is held against version %s', (tag, version, expected) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [tagScript, tag, version], { encoding: 'utf8' });

    expect({ status, stdout, stderr }).toEqual(expected);
  });
});

const disposable = <T extends { close(): Promise<void> }>(client: T): T & AsyncDisposable =>
  Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
