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
    const serve = () => installed.run('--listen', 'ws://127.0.0.1:0');

    const { code, stderr } = await installed.withoutNativeFiles(serve);

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /the native addon cannot be used \(this package has no exec_native\.node for linux-\w+-\w+\): build it from its source here/,
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
