import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { appeared, uniqueSeconds } from '../../support/proc.ts';
import { WireFailure } from '../../support/wire-client.ts';
import { accounts, outcomeOf, path, readOnly, SandboxFixture, uri, workspaceWrite } from './fixture.ts';

describe.each(accounts)('ways out of a sandbox that are closed, of a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  it('LD_PRELOAD of the request acts on the command, not on what launches it', async () => {
    fixture.write('workspace/mark.c', preloaded);
    execFileSync('cc', ['-shared', '-fPIC', '-o', fixture.at('workspace/mark.so'), fixture.at('workspace/mark.c')]);
    const outcome = await fixture.run('', {
      argv: ['/bin/true'],
      env: { LD_PRELOAD: fixture.at('workspace/mark.so') },
    });
    expect(outcome).toMatchObject({ exitCode: 0, stderr: '' });
    expect(existsSync(fixture.at('workspace/marked'))).toBe(true);
    expect(existsSync(fixture.at('outside/marked'))).toBe(false);
  });

  it('a bwrap in the PATH of the request is not run', async () => {
    fixture.write('workspace/bwrap', `#!/bin/sh\ntouch ${fixture.at('outside/marked')}\n`);
    chmodSync(fixture.at('workspace/bwrap'), 0o755);
    const outcome = await fixture.run('echo ran', {
      entries: readOnly,
      cwd: '/',
      env: { PATH: `${fixture.workspace}:/usr/bin:/bin` },
    });
    expect(outcome).toMatchObject({ exitCode: 0, stdout: 'ran\n' });
    expect(existsSync(fixture.at('outside/marked'))).toBe(false);
  });

  it('a mount point that two commands share is there until the last of them ends', async () => {
    const seconds = uniqueSeconds();
    const long = await fixture.start(`exec sleep ${seconds}`);
    await appeared(seconds);
    expect(await fixture.run('mkdir .codex')).toMatchObject({ exitCode: 1 });
    expect(readdirSync(fixture.workspace).sort()).toEqual(['.agents', '.aws', '.codex', '.git', 'a.txt', 'sub']);
    await fixture.client.call('process/terminate', { processId: long.id });
    await outcomeOf(long);
    expect(readdirSync(fixture.workspace).sort()).toEqual(['.git', 'a.txt', 'sub']);
  });

  it('a mount point that commands of two servers share is there until the last of them ends', async () => {
    await using other = await SandboxFixture.open(fixture.account);
    const place = {
      cwd: fixture.workspace,
      sandbox: { cwd: uri(fixture.workspace), workspaceRoots: [uri(fixture.workspace)] },
    };
    const [short, long] = [uniqueSeconds(), uniqueSeconds()];
    const first = await fixture.start(`exec sleep ${short}`);
    await appeared(short);
    const second = await other.start(`sleep ${long}; mkdir .codex; touch .codex/planted`, place);
    const [sleep] = await appeared(long);
    await fixture.client.call('process/terminate', { processId: first.id });
    await outcomeOf(first);
    process.kill(sleep!);

    expect(await outcomeOf(second)).toMatchObject({ exitCode: 1, denied: true });
    expect(existsSync(fixture.at('workspace/.codex/planted'))).toBe(false);
  });

  it('an empty protected directory that was there before stays', async () => {
    fixture.mkdir('workspace/.agents');
    expect(await fixture.run('mkdir .agents/x')).toMatchObject({ exitCode: 1, denied: true });
    expect(readdirSync(fixture.workspace).sort()).toEqual(['.agents', '.git', 'a.txt', 'sub']);
  });

  it.runIf(process.getuid!() === 0)('a workspace of another user does not keep the command from running', async () => {
    chownSync(fixture.workspace, 4321, 4321);
    expect(await fixture.run('echo ran; mkdir .agents')).toMatchObject({ exitCode: 1, stdout: 'ran\n', denied: true });
    expect(readdirSync(fixture.workspace).sort()).toEqual(['.git', 'a.txt', 'sub']);
  });

  it.each([
    ['a read-only directory', 'read', 'kept'],
    ['a denied directory', 'deny', 'kept'],
    ['the repository of a writable root', 'write', 'kept/.git'],
  ])('%s below a writable one cannot be moved out of the way', async (_, access, place) => {
    fixture.mkdir('workspace/deep/er/kept/.git');
    const entries = [...workspaceWrite, path(fixture.at('workspace/deep/er/kept'), access)];
    for (const moved of ['deep', 'deep/er', 'deep/er/kept']) {
      const steps = [`mv ${moved} away`, `mkdir -p deep/er/${place}`, `echo x > deep/er/${place}/planted`];
      const outcome = await fixture.run(steps.join(';'), { entries });
      expect(outcome).toMatchObject({ exitCode: 1, denied: true });
      expect(existsSync(fixture.at(`workspace/deep/er/${place}/planted`))).toBe(false);
    }
  });

  it('the older Landlock mode is not taken instead', async () => {
    const outcome = await fixture.run('echo x > .git/n', { sandbox: { useLegacyLandlock: true } });
    expect(outcome).toMatchObject({ exitCode: 1, denied: true });
  });

  it('a policy with a path of another system is refused', async () => {
    const entries = [...workspaceWrite, { path: { type: 'path', path: 'file:///C:/x' }, access: 'write' }];
    await expect(fixture.run('true', { entries })).rejects.toThrow(WireFailure);
    await expect(fixture.run('true', { entries })).rejects.toMatchObject({ code: -32602 });
  });

  it('a working directory that does not exist is an error of the start', async () => {
    await expect(fixture.run('true', { cwd: fixture.at('missing') })).rejects.toMatchObject({
      code: -32603,
      message: 'No such file or directory (os error 2)',
    });
  });

  it('a rule below a file, which cannot be enforced, keeps the command from running', async () => {
    const outcome = await fixture.run('echo ran', {
      entries: [...workspaceWrite, path(fixture.at('workspace/a.txt/x'), 'deny')],
    });
    const stderr = expect.stringMatching(/^bwrap: .*\/a\.txt\/x: Not a directory\n$/);
    expect(outcome).toEqual({ exitCode: 1, stdout: '', stderr, denied: false });
  });

  it('the policies of April and May 2026 mean what they meant', async () => {
    const april = { permissions: undefined, sandboxPolicy: { type: 'read-only' } };
    expect(await fixture.run('echo x > n', { sandbox: april })).toMatchObject({ denied: true });
    const writable = { type: 'workspace-write', writable_roots: [fixture.workspace], exclude_slash_tmp: true };
    const outcome = await fixture.run('echo x > n && echo x > $O/n', {
      sandbox: { permissions: undefined, sandboxPolicy: writable },
    });
    expect(outcome).toMatchObject({ denied: true });
    expect(existsSync(fixture.at('workspace/n'))).toBe(true);
    expect(existsSync(fixture.at('outside/n'))).toBe(false);
    const may = await fixture.run('echo x > m', { sandbox: { cwd: fixture.workspace, workspaceRoots: undefined } });
    expect(may).toMatchObject({ exitCode: 0 });
    const today = { cwd: uri(fixture.workspace), workspaceRoots: undefined };
    expect(await fixture.run('echo x > m', { sandbox: today })).toMatchObject({ denied: true });
  });
});

const preloaded = `
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void mark(void)
{
    const char *places[] = {"workspace", "outside"};
    char path[4096];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/../%s/marked", getenv("W") ? getenv("W") : "/nowhere", places[i]);
        close(open(path, O_CREAT | O_WRONLY, 0644));
    }
}
`;
