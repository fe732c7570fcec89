import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { appeared, gone, processesWith, uniqueSeconds } from '../../support/proc.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { connect, type WebSocketClient } from '../../support/wire-client.ts';
import { outcomeOf, readOnly, special, uri } from '../sandbox/fixture.ts';

let home: string;
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'exec-server-shell-')));
  await startUp('.bash_profile', 'echo noise\nexport FROM_PROFILE=1\n');
  await startUp('.bashrc', 'echo noise\n');
  return () => rm(home, { recursive: true });
});

/** Writes a start-up file that leaves a line in `runs` each time it is read. */
const startUp = (name: string, text: string): Promise<void> =>
  writeFile(join(home, name), `echo ${name} >> ${home}/runs\n${text}`);

const runs = async (): Promise<string[]> => (await readFile(join(home, 'runs'), 'utf8')).trim().split('\n');

const bash = { name: 'bash', path: '/bin/bash' };

function run(client: WebSocketClient, script: string, more: Readonly<Record<string, unknown>> = {}) {
  const usual = {
    cwd: uri(home),
    env: { PATH: '/usr/bin:/bin', HOME: home },
    shellSnapshot: { scopeId: 's', shell: bash },
  };
  return client.start({ argv: ['/bin/bash', '-lc', script], ...usual, ...more }).then(outcomeOf);
}

const sandbox = (entries: readonly unknown[]) => ({
  permissions: { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' },
  windowsSandboxLevel: 'disabled',
  cwd: uri(home),
  workspaceRoots: [uri(home)],
});

describe('a shell snapshot', () => {
  it('brings back functions, aliases, options and exported variables, and nothing that start-up printed', async () => {
    await using client = await connect(server.url);
    await startUp(
      '.bashrc',
      'export FROM_RC="two\nlines"\nalias hi="echo hi"\ngreet() { echo "hello $1"; }\nexport -f greet\nshopt -s globstar\nset -o noclobber\n',
    );
    const script =
      'alias; greet you; bash -c "greet them"; echo "$FROM_PROFILE $FROM_RC"; shopt globstar; set -o | grep noclobber';
    const { stdout, stderr } = await run(client, script);
    expect(stdout.replaceAll(/[ \t]+/g, ' ')).toBe(
      "alias hi='echo hi'\nhello you\nhello them\n1 two\nlines\nglobstar on\nnoclobber on\n",
    );
    expect(stderr).toBe('');
  });

  it('lets start-up files run once for many commands of a scope, and again for another', async () => {
    await using client = await connect(server.url);
    await Promise.all([run(client, 'true'), run(client, 'true'), run(client, 'true')]);
    await run(client, 'true');
    expect(await runs()).toEqual(['.bash_profile', '.bashrc']);
    await run(client, 'true', { shellSnapshot: { scopeId: 'other', shell: bash } });
    expect(await runs()).toHaveLength(4);
  });

  it('does not outweigh the environment that the client asks for', async () => {
    await using client = await connect(server.url);
    await startUp('.bashrc', 'export ASKED=rc MORE=rc\n');
    const env = { PATH: '/usr/bin:/bin', HOME: home, ASKED: 'client' };
    expect((await run(client, 'echo $ASKED $MORE', { env })).stdout).toBe('client rc\n');
  });

  it('does not carry what one command was given into the next', async () => {
    await using client = await connect(server.url);
    const env = { PATH: '/usr/bin:/bin', HOME: home };
    await run(client, 'true', { env: { ...env, ONLY_FIRST: '1' } });
    expect((await run(client, 'echo "$ONLY_FIRST,$FROM_PROFILE"', { env })).stdout).toBe(',1\n');
  });

  it('gives no more of the environment than the policy lets through', async () => {
    await using client = await connect(server.url);
    await startUp('.bashrc', 'export MY_TOKEN=secret UNWANTED=1 WANTED=1\n');
    const envPolicy = { inherit: 'none', ignoreDefaultExcludes: false, exclude: ['UNW*'], set: {}, includeOnly: [] };
    const { stdout } = await run(client, 'env | grep -c "TOKEN\\|UNWANTED"; echo $WANTED', { envPolicy });
    expect(stdout).toBe('0\n1\n');
  });

  it('keeps the arguments of the script and its exit code, and leaves nothing of itself behind', async () => {
    await using client = await connect(server.url);
    const argv = ['/bin/bash', '-lc', 'echo "$0 $*"; env | grep -c EXEC_SERVER; exit 7', 'zero', 'one', 'two'];
    expect(await run(client, '', { argv })).toMatchObject({ exitCode: 7, stdout: 'zero one two\n0\n' });
  });

  it('carries more than one variable can hold', async () => {
    await using client = await connect(server.url);
    await startUp('.bashrc', `big() { echo '${'ü'.repeat(100_000)}'; }\n`);
    expect(
      (
        await run(client, 'big | tr -d "\\n" | wc -m', {
          env: { PATH: '/usr/bin:/bin', HOME: home, LC_ALL: 'C.UTF-8' },
        })
      ).stdout,
    ).toBe('100000\n');
  });

  it.each([
    ['another shell', ['bash', '-lc', 'echo done']],
    ['another flag', ['/bin/bash', '-c', 'echo done']],
  ])('leaves a command alone that calls %s', async (_name, argv) => {
    await using client = await connect(server.url);
    await startUp('.bashrc', 'echo() { builtin echo restored; }\n');
    const { stdout } = await run(client, '', { argv });
    expect(stdout.split('\n').at(-2)).toBe('done');
  });

  it('is that of a login when a start-up file ends the shell, and is tried again later', async () => {
    await using client = await connect(server.url);
    await startUp('.bashrc', 'exit 3\n');
    expect(await run(client, 'echo done')).toMatchObject({ exitCode: 0, stdout: 'done\n' });
    await startUp('.bashrc', 'mended() { echo mended; }\n');
    expect((await run(client, 'mended')).stdout).toBe('mended\n');
  });

  it('does for sh what sh can do', async () => {
    await using client = await connect(server.url);
    await startUp(
      '.profile',
      "echo noise\nalias hi='echo \"it'\\''s\"'\nalias two='a\nb'\nset -o noclobber\nexport FROM_PROFILE=1\n",
    );
    const argv = [
      '/bin/sh',
      '-lc',
      'alias hi; alias two 2>/dev/null || echo given up; set +o | grep noclobber; echo $FROM_PROFILE',
    ];
    const shellSnapshot = { scopeId: 's', shell: { name: 'sh', path: '/bin/sh' } };
    const { stdout, stderr } = await run(client, '', { argv, shellSnapshot });
    expect(stdout).toMatch(/^(?:alias )?hi='echo "it.*s"'\ngiven up\nset -o noclobber\n1\n$/);
    expect(stderr).toBe('');
  });

  it('is refused for shells it does not know and for scopes without a usable name', async () => {
    await using client = await connect(server.url);
    const started = (shellSnapshot: unknown) => run(client, 'true', { shellSnapshot });
    await expect(started({ scopeId: 's', shell: { name: 'fish', path: '/bin/bash' } })).rejects.toMatchObject({
      code: -32602,
      message: 'shell snapshots are unsupported for shell `fish`',
    });
    for (const scopeId of ['', 'x'.repeat(257)]) {
      await expect(started({ scopeId, shell: bash })).rejects.toMatchObject({ code: -32602 });
    }
  });

  it('is taken inside the sandbox of the command', async () => {
    await using client = await connect(server.url);
    await startUp('.bashrc', `touch ${home}/written 2>/dev/null && export ESCAPED=1\nfrom_rc() { echo restored; }\n`);
    const { stdout } = await run(client, 'from_rc; echo "escaped: $ESCAPED"', { sandbox: sandbox(readOnly) });
    expect(stdout).toBe('restored\nescaped: \n');
  });

  it('cannot be changed by a sandboxed command for the next one', async () => {
    await using client = await connect(server.url);
    await startUp('.bashrc', 'from_rc() { echo restored; }\n');
    const writable = {
      sandbox: sandbox([special('root', 'read'), special('slash_tmp', 'write'), special('tmpdir', 'write')]),
    };
    await run(client, `echo 'from_rc() { echo changed; }' > ${home}/.bashrc; from_rc`, writable);
    expect((await run(client, 'from_rc', writable)).stdout).toBe('restored\n');
  });

  it('keeps what start-up files started alive until the session ends', async () => {
    const seconds = uniqueSeconds();
    const client = await connect(server.url);
    await startUp('.bashrc', `sleep ${seconds} >/dev/null 2>&1 &\n`);
    await run(client, 'true');
    const helpers = await appeared(seconds);
    await run(client, 'true');
    expect(await appeared(seconds)).toEqual(helpers);
    await server.stop();
    await gone(helpers);
    server = await startServer();
    await client[Symbol.asyncDispose]();
  });

  it('is the end of a command that is terminated meanwhile: it never runs', async () => {
    await using client = await connect(server.url);
    await startUp('.bash_profile', 'sleep 1\n');
    const started = run(client, 'echo command >> runs', { processId: 'early' });
    await expect.poll(() => runs().catch(() => [])).toEqual(['.bash_profile']);
    await client.call('process/terminate', { processId: 'early' });

    await expect(started).rejects.toThrow('process early start was cancelled');
    expect(await runs()).not.toContain('command');
  });

  it.each(['session', 'server'])('is not begun again when the %s ends in the middle of it', async (what) => {
    const seconds = uniqueSeconds();
    await startUp('.bash_profile', `setsid sleep ${seconds} </dev/null >/dev/null 2>&1 &\nsleep 1\n`);
    const args = ['--detached-session-ttl-ms', '0'];
    await using own = await startServer({ args, env: { EXEC_SERVER_LOG: 'debug' } });
    const client = await connect(own.url);
    const started = run(client, 'true').catch((error: Error) => error.message);
    const left = await appeared(seconds);
    if (what === 'session') {
      client.cut();
      await own.logged('session.ended');
    }
    expect(await own.stop()).toBe(0);
    await started;
    await gone(left);

    expect(await runs()).toEqual(['.bash_profile']);
    expect(processesWith(seconds)).toEqual([]);
  });
});
