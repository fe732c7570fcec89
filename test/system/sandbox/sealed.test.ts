import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { accounts, glob, path, SandboxFixture, workspaceWrite } from './fixture.ts';

/** Both commands run in the same sandbox; the first takes something out of the server's sight for the second. */
describe.each(accounts)('what a command hides from the server, as $name,', (account) => {
  it.each(['000', '111', '444'])('in a directory of mode %s, stays denied by a pattern', async (mode) => {
    await using fixture = await SandboxFixture.open(account);
    fixture.mkdir('workspace/d/e');
    fixture.write('workspace/d/a.env', 'secret\n');
    fixture.write('workspace/d/e/b.env', 'secret\n');
    const entries = [...workspaceWrite, glob(`${fixture.workspace}/**/*.env`)];

    expect((await fixture.run(`chmod ${mode} d`, { entries })).exitCode).toBe(0);
    const { stdout } = await fixture.run('chmod 755 d; cat d/a.env d/e/b.env', { entries });

    expect(stdout).toBe('');
  });

  it('behind a path that is too long, stays denied by a pattern', async () => {
    await using fixture = await SandboxFixture.open(account);
    const name = 'd'.repeat(200);
    fixture.mkdir(`workspace/${name}`);
    fixture.write(`workspace/${name}/a.env`, 'secret\n');
    const entries = [...workspaceWrite, glob(`${fixture.workspace}/**/*.env`)];
    const bury = `for i in {1..25}; do mkdir t && mv ${name} t && mv t ${name}; done`;
    try {
      expect((await fixture.run(bury, { entries })).exitCode).toBe(0);
      const { stdout, exitCode } = await fixture.run(`while cd ${name}; do :; done; cat a.env; exit 3`, { entries });

      expect([stdout, exitCode]).toEqual(['', 3]);
    } finally {
      spawnSync('rm', ['-rf', `${fixture.workspace}/${name}`]); // deeper than Node removes
    }
  });

  it('by closing the directory around it, stays denied by its path', async () => {
    await using fixture = await SandboxFixture.open(account);
    fixture.mkdir('workspace/d');
    fixture.write('workspace/d/key', 'secret\n');
    const entries = [...workspaceWrite, path(fixture.at('workspace/d/key'), 'deny')];

    expect((await fixture.run('chmod 000 d', { entries })).exitCode).toBe(0);
    const { stdout, exitCode } = await fixture.run('chmod 755 d; cat d/key', { entries });

    expect([stdout, exitCode]).toEqual(['', 1]);
  });

  it('by closing the workspace, stays read-only', async () => {
    await using fixture = await SandboxFixture.open(account);

    expect((await fixture.run('chmod 000 .')).exitCode).toBe(0);
    await fixture.run('chmod 755 $W; echo x > $W/.git/hooks/pre-commit', { cwd: '/' });

    spawnSync('chmod', ['755', fixture.workspace]);
    expect(existsSync(fixture.at('workspace/.git/hooks/pre-commit'))).toBe(false);
  });

  it('by making a directory unwritable, gets no repository', async () => {
    await using fixture = await SandboxFixture.open(account);
    fixture.mkdir('workspace/second');
    const second = fixture.at('workspace/second');
    const entries = [...workspaceWrite, path(second, 'write')];

    chmodSync(second, 0o555);
    await fixture.run('chmod 755 second; mkdir -p second/.git/hooks', { entries });

    expect(existsSync(`${second}/.git/hooks`)).toBe(false);
  });
});
