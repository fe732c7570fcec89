import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { everyQuestion } from './codex.ts';
import { CodexAppServer } from './codex-app-server.ts';
import { CodexExec } from './codex-exec.ts';
import { Rig } from './rig.ts';
import type { WireLog } from './wire-log.ts';

const refusal = /Read-only file system|Permission denied/;

describe('the sandbox of the real client', () => {
  it('lets a read-only command read, refuses its writes, and says which failures were denials', async () => {
    await using rig = await Rig.start(CodexExec, {
      sandbox: 'read-only',
      prepare: (workspace) => workspace.write('seen.txt', 'visible\n'),
    });
    const outside = join(rig.workspace.outside, 'made.txt');

    const read = await rig.model.exec('cat seen.txt');
    const inWorkspace = await rig.model.exec('echo x > made.txt');
    const elsewhere = await rig.model.exec(`echo x > ${outside}`);
    const ordinary = await rig.model.exec('exit 3');
    await rig.finish();

    expect(read).toMatchObject({ exitCode: 0, output: 'visible\n' });
    expect(inWorkspace.output).toMatch(refusal);
    expect(elsewhere.output).toMatch(refusal);
    expect([inWorkspace.exitCode, elsewhere.exitCode, ordinary.exitCode]).toEqual([1, 1, 3]);
    expect([rig.workspace.has('made.txt'), existsSync(outside)]).toEqual([false, false]);
    expect(denials(rig.wire)).toEqual([false, true, true, false]);
    expect(sandboxed(rig.wire)).toEqual([true, true, true, true]);
  });

  it('opens the workspace for writing, but not .git, the rest of the disk or the network', async () => {
    await using rig = await Rig.start(CodexExec, {
      sandbox: 'workspace-write',
      config: { sandbox_workspace_write: { exclude_slash_tmp: true, exclude_tmpdir_env_var: true } },
      prepare: async (workspace) => {
        await mkdir(join(workspace.cwd, '.git'));
        await workspace.write('.git/HEAD', 'ref: refs/heads/main\n');
      },
    });
    await using listener = await countConnections();
    const outside = join(rig.workspace.outside, 'made.txt');

    const inside = await rig.model.exec('mkdir -p a/b && echo fine > a/b/c.txt && cat a/b/c.txt');
    const elsewhere = await rig.model.exec(`echo x > ${outside}`);
    const git = await rig.model.exec('echo x > .git/config');
    const network = await rig.model.exec(`echo x > /dev/tcp/127.0.0.1/${listener.port}`);
    await rig.finish();

    expect(inside).toMatchObject({ exitCode: 0, output: 'fine\n' });
    expect(await rig.workspace.read('a/b/c.txt')).toBe('fine\n');
    expect(elsewhere.output).toMatch(refusal);
    expect(git.output).toMatch(refusal);
    expect([existsSync(outside), rig.workspace.has('.git/config')]).toEqual([false, false]);
    expect(network.exitCode).toBe(1);
    expect(listener.connections()).toBe(0);
  });

  it('is left only with consent: accepted the command runs, declined it never reaches the server', async () => {
    await using rig = await Rig.start(CodexAppServer, {
      sandbox: 'read-only',
      approval: 'on-request',
      accepts: (command) => command.includes('yes.txt'),
    });
    const ask = { sandbox_permissions: 'require_escalated', justification: 'May I write the file?' };

    const accepted = await rig.model.exec('echo approved > yes.txt && cat yes.txt', ask);
    const declined = await rig.model.exec('echo x > no.txt', ask);
    const unasked = await rig.model.exec('echo x > plain.txt');
    await rig.finish();

    expect(accepted).toMatchObject({ exitCode: 0, output: 'approved\n' });
    expect(declined.text).toContain('rejected by user');
    expect(unasked.output).toMatch(refusal);
    expect(await rig.workspace.read('yes.txt')).toBe('approved\n');
    expect([rig.workspace.has('no.txt'), rig.workspace.has('plain.txt')]).toEqual([false, false]);
    expect(rig.client.questions.map(({ reason }) => reason)).toEqual([ask.justification, ask.justification]);
    expect(sandboxed(rig.wire)).toEqual([false, true]);
  });

  // The client asks only about a denial that reaches it within 150 ms of the start, so this one needs a quick server.
  it('denies a write, which leads to a question and, accepted, to a retry outside of it', async () => {
    await using rig = await Rig.start(CodexAppServer, {
      sandbox: 'read-only',
      approval: { granular: everyQuestion },
      accepts: (command) => command.includes('good.txt'),
    });

    const accepted = await rig.model.exec('echo retried > good.txt && cat good.txt');
    const declined = await rig.model.exec('echo x > bad.txt');
    const ordinary = await rig.model.exec('exit 12');
    await rig.finish();

    expect(accepted).toMatchObject({ exitCode: 0, output: 'retried\n' });
    expect(declined.text).toContain('rejected by user');
    expect(ordinary.exitCode).toBe(12);
    expect(await rig.workspace.read('good.txt')).toBe('retried\n');
    expect(rig.workspace.has('bad.txt')).toBe(false);
    expect(rig.client.questions).toHaveLength(2);
    expect(sandboxed(rig.wire)).toEqual([true, false, true, true]);
    expect(denials(rig.wire)).toEqual([true, false, true, false]);
    const ids = rig.wire.requests('process/start').map(({ params }) => params.processId);
    expect(new Set(ids).size).toBe(4);
  });
});

const sandboxed = (wire: WireLog) => wire.requests('process/start').map(({ params }) => params.sandbox !== null);

const denials = (wire: WireLog) => wire.notifications('process/exited').map(({ params }) => params.sandboxDenied);

/** A listener that a command without a sandbox could reach. */
async function countConnections() {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
