import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { version } from '../../../src/base/index.ts';
import { makeOutOfBounds } from '../../support/out-of-bounds.ts';
import { gone } from '../../support/proc.ts';
import { serverProgram } from '../../support/server.ts';
import { interceptions, McpPeer, wrapper } from './fixture.ts';

/** The program as it ships, with a home and a working directory of its own. */
class ShellToolProgram implements AsyncDisposable {
  readonly #root: string;
  readonly work: string;
  readonly process: ChildProcessWithoutNullStreams;
  readonly peer: McpPeer;
  stderr = '';
  stdout = '';

  constructor(args: readonly string[], env: Record<string, string> = {}, rules = '') {
    this.#root = makeOutOfBounds('exec-mcp');
    this.work = join(this.#root, 'work');
    mkdirSync(this.work);
    mkdirSync(join(this.#root, 'home/rules'), { recursive: true });
    writeFileSync(join(this.#root, 'home/rules/default.rules'), rules);
    const { PATH = '' } = process.env;
    this.process = spawn(process.execPath, [serverProgram, 'mcp', '--tools', 'shell', ...args], {
      env: { PATH, HOME: this.#root, CODEX_HOME: join(this.#root, 'home'), ...env },
    });
    this.process.stderr.on('data', (data: Buffer) => (this.stderr += data));
    this.process.stdout.on('data', (data: Buffer) => (this.stdout += data));
    this.peer = new McpPeer(this.process.stdin, this.process.stdout);
  }

  async ended(): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, 'close');
    return this.process.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.stdin.end();
    await this.ended();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

describe('exec-server mcp --tools shell', () => {
  it('serves until its input ends', async () => {
    const program = new ShellToolProgram(['--sandbox', 'workspace-write']);
    await program.peer.initialize();

    expect(await program.peer.shell('echo hi > made; cat made', program.work)).toMatchObject({ output: 'hi\n' });
    await program[Symbol.asyncDispose]();
    expect(program.process.exitCode).toBe(0);
  });

  it('keeps the secrets of the server from commands', async () => {
    const env = { CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN: 'x', EXEC_SERVER_MCP_TOKEN: 'x', PLAIN: 'seen' };
    await using program = new ShellToolProgram([], env);
    await program.peer.initialize();

    const { output } = await program.peer.shell('printenv PLAIN; env | grep -c TOKEN', program.work);

    expect(output).toBe('seen\n0\n');
  });

  it.each([
    [['--version'], 0, `exec-mcp-server ${version}\n`],
    [['--help'], 0, 'Usage: exec-mcp-server'],
  ])('answers %j', async (args, code, text) => {
    const program = new ShellToolProgram(args);
    // Lines that are not JSON are of no interest to the client.
    program.peer.ignoreOutput();

    expect(await program.ended()).toBe(code);
    expect(program.stdout).toContain(text);
    await program[Symbol.asyncDispose]();
  });

  it.each([
    [['--intercept=some'], 2, "invalid value 'some' for --intercept: expected all, bash or auto"],
    [['--sandbox=none'], 2, "invalid value 'none' for --sandbox"],
    [['--http', '127.0.0.1:0'], 2, "unexpected argument '--http'"],
    [
      ['--intercept=bash', '--bash=/bin/bash'],
      1,
      '--intercept=bash does not work with /bin/bash: its execs are not reported',
    ],
    [['--intercept=bash', '--bash=/no/bash'], 1, '/no/bash cannot be executed'],
    [['--intercept=all', '--bash=/no/bash'], 1, '/no/bash cannot be executed'],
    [['--rules=/no/such.rules'], 1, 'no such file'],
  ])('refuses %j', async (args, code, text) => {
    await using program = new ShellToolProgram(args);

    expect(await program.ended()).toBe(code);
    expect(program.stderr).toContain(text);
  });

  it('does not start with rules that are wrong', async () => {
    await using program = new ShellToolProgram([], {}, 'prefix_rule(pattern = [])');

    expect(await program.ended()).toBe(1);
    expect(program.stderr).toContain('pattern cannot be empty');
  });

  it('applies the rules of the user, and those it is given', async () => {
    await using program = new ShellToolProgram(
      ['--rules', '/dev/null'],
      {},
      'prefix_rule(pattern = ["id"], decision = "forbidden")',
    );
    await program.peer.initialize();

    expect((await program.peer.shell('id', program.work)).stderr).toContain('Execution forbidden by policy');
  });

  it('finds a patched Bash by its variable', async () => {
    const bash = join(fileURLToPath(new URL('../../../', import.meta.url)), 'build/bash/bash');
    const args = ['--intercept=bash', '--execve', wrapper];
    await using program = new ShellToolProgram(args, { CODEX_BASH_PATH: bash });
    await program.peer.initialize();

    expect((await program.peer.shell('echo $BASH_EXEC_WRAPPER', program.work)).output).toBe(`${wrapper}\n`);
  });

  it.each(interceptions)('leaves no process when it is killed (--intercept=%s)', async (intercept) => {
    const rules = 'prefix_rule(pattern = ["python3"])';
    await using program = new ShellToolProgram([`--intercept=${intercept}`, '--sandbox=workspace-write'], {}, rules);
    await program.peer.initialize();
    await program.peer.shell('mkfifo pids', program.work);
    const outside = 'import os, time; open("pids", "w").write(str(os.getpid())); time.sleep(600)';

    void program.peer.shell(`sleep 600 & /usr/bin/python3 -c '${outside}'`, program.work).catch(() => undefined);
    const pid = Number(await readFile(join(program.work, 'pids'), 'utf8'));
    const descendants = descendantsOf(program.process.pid!);
    program.process.kill('SIGKILL');

    expect(descendants).toContain(pid);
    for (const descendant of descendants) await gone(descendant);
  });
});

function descendantsOf(parent: number): number[] {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.map(Number).flatMap((pid) => [pid, ...descendantsOf(pid)]);
}
