import {
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  accounts,
  glob,
  path,
  type RunOptions,
  readOnly,
  restrictedRead,
  SandboxFixture,
  special,
  uri,
  workspaceWrite,
} from './fixture.ts';

const readOnlyDisk = 'Read-only file system';

describe.each(accounts)('the disk a sandboxed command sees, of a server run by $name', (account) => {
  let fixture: SandboxFixture;
  beforeAll(async () => {
    fixture = await SandboxFixture.open(account);
  });
  beforeEach(() => fixture.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());

  /** The script fails with these words, and whether that counts as a denial. */
  async function expectFailure(script: string, words: string, denied: boolean, options?: RunOptions): Promise<void> {
    const outcome = await fixture.run(script, options);
    expect(outcome.stderr).toContain(words);
    expect(outcome).toMatchObject({ denied });
    expect(outcome.exitCode).not.toBe(0);
  }

  async function expectSuccess(script: string, options?: RunOptions): Promise<string> {
    const outcome = await fixture.run(script, options);
    expect(outcome).toMatchObject({ exitCode: 0, stderr: '', denied: false });
    return outcome.stdout;
  }

  describe('read only', () => {
    const options = { entries: readOnly };

    it('can be read everywhere', async () => {
      expect(await expectSuccess('cat /etc/passwd', options)).toContain('root:');
    });

    it.each(['$W/n', '$O/n'])('refuses to create %s', async (file) => {
      await expectFailure(`echo x > ${file}`, readOnlyDisk, true, options);
      expect(existsSync(fixture.at('workspace/n')) || existsSync(fixture.at('outside/n'))).toBe(false);
    });

    it('has devices without a machine behind them only', async () => {
      await expectSuccess('echo x > /dev/null; echo x > /dev/shm/exec-server-test', options);
      expect(existsSync('/dev/shm/exec-server-test')).toBe(false);
      await expectFailure('stat /dev/mem /dev/kmsg', 'No such file', false, options);
    });
  });

  describe('with a writable workspace', () => {
    it('takes files in the workspace', async () => {
      await expectSuccess('echo x > n');
      expect(readFileSync(fixture.at('workspace/n'), 'utf8')).toBe('x\n');
    });

    it.each([
      'echo x > $O/n',
      'echo x >> $O/secret',
      'rm $O/secret',
      'chmod 777 $O/secret',
      'touch -d 2001-01-01 $O/secret',
      'mv $W $W.moved',
      'ln -s $O $W/l && echo x > $W/l/n',
      'echo x > /proc/self/root/$O/n',
    ])('keeps what is outside: %s', async (script) => {
      const before = lstatSync(fixture.at('outside/secret'));
      await expectFailure(script, readOnlyDisk, true);
      expect(readdirSync(fixture.outside)).toEqual(['secret']);
      expect(lstatSync(fixture.at('outside/secret'))).toMatchObject({ mtimeMs: before.mtimeMs, mode: before.mode });
    });

    it('has no way through the root of its first process', async () => {
      await expectFailure('echo x > /proc/1/root/$O/n', 'Permission denied', true);
      expect(readdirSync(fixture.outside)).toEqual(['secret']);
    });

    it.each([
      'echo x > .git/hooks/pre-commit',
      'echo x >> .git/config',
      'rm -rf .git',
      'mkdir .agents/x',
      'echo x > .aws/credentials',
      'ln -s $W/sub $W/.codex/x',
    ])('keeps the names that other programs act upon: %s', async (script) => {
      await expectFailure(script, readOnlyDisk, true);
      expect(readFileSync(fixture.at('workspace/.git/config'), 'utf8')).toBe('[core]\n');
      expect(readdirSync(fixture.at('workspace/.git/hooks'))).toEqual([]);
      expect(readdirSync(fixture.workspace).sort()).toEqual(['.git', 'a.txt', 'sub']);
    });

    it('cannot move a protected directory away, which is no denial', async () => {
      await expectFailure('mv .git elsewhere', 'Device or resource busy', false);
    });

    it('has a missing protected directory in its place while the command runs, and not afterwards', async () => {
      await expectFailure('mkdir .codex', 'File exists', false);
      expect(existsSync(fixture.at('workspace/.codex'))).toBe(false);
    });

    it('protects names directly under a writable root only', async () => {
      await expectSuccess('mkdir -p sub/.git/hooks && echo x > sub/.git/hooks/h');
    });

    it('refuses to link to files outside, and follows links that were there', async () => {
      await expectFailure('ln $O/secret hl', 'Invalid cross-device link', false);
      symlinkSync(fixture.at('outside/secret'), fixture.at('workspace/sl'));
      await expectFailure('echo x >> sl', readOnlyDisk, true);
      linkSync(fixture.at('outside/secret'), fixture.at('workspace/hl'));
      await expectSuccess('echo x >> hl');
      expect(readFileSync(fixture.at('outside/secret'), 'utf8')).toBe('secret\nx\n');
    });

    it('lets a read rule narrow it and a write rule widen it', async () => {
      const narrowed = { entries: [...workspaceWrite, path(fixture.at('workspace/sub'), 'read')] };
      await expectFailure('echo x > n && echo x > sub/n', readOnlyDisk, true, narrowed);
      expect(existsSync(fixture.at('workspace/n'))).toBe(true);
      const widened = { entries: [...workspaceWrite, path(fixture.at('workspace/.git'), 'write')] };
      await expectSuccess('echo x > .git/n', widened);
    });

    it('protects the directory a .git file points to', async () => {
      fixture.reset();
      fixture.mkdir('other/gd');
      fixture.write('other/.git', 'gitdir: ./gd\n');
      const sandbox = { workspaceRoots: [uri(fixture.at('other'))] };
      await expectFailure(`echo x > ${fixture.at('other/gd/config')}`, readOnlyDisk, true, { sandbox });
      await expectFailure(`echo x > ${fixture.at('other/.git')}`, readOnlyDisk, true, { sandbox });
    });

    describe('of a repository that is kept elsewhere', () => {
      const git = { ...special('project_roots', 'read', { subpath: '.git' }), missing_path_behavior: 'skip' };
      const keeping = (root: string) => ({
        entries: [...workspaceWrite, git, path(fixture.at('other'), 'write')],
        sandbox: { workspaceRoots: [uri(fixture.at(root))] },
      });

      it('protects that of a submodule, and of the directories around it', async () => {
        fixture.mkdir('other/sub');
        fixture.mkdir('other/modules/sub/hooks');
        fixture.write('other/sub/.git', 'gitdir: ../modules/sub\n');
        const options = keeping('other/sub');
        await expectFailure(
          `echo x > ${fixture.at('other/modules/sub/hooks/pre-commit')}`,
          readOnlyDisk,
          true,
          options,
        );
        for (const moved of ['other/modules', 'other/modules/sub', 'other/sub']) {
          const renaming = `perl -e 'rename(shift, shift) or die "$!\\n"' ${fixture.at(moved)} ${fixture.at('other/away')}`;
          expect((await fixture.run(renaming, options)).stderr).toMatch(/busy|cross-device/);
        }
        await expectSuccess(
          `echo x > ${fixture.at('other/modules/n')}; echo x > ${fixture.at('other/sub/n')}`,
          options,
        );
      });

      it('protects that of a worktree, and what it shares with others', async () => {
        fixture.mkdir('other/tree');
        fixture.mkdir('other/main/store/worktrees/tree');
        fixture.write('other/tree/.git', `gitdir: ${fixture.at('other/main/store/worktrees/tree')}\n`);
        fixture.write('other/main/store/worktrees/tree/commondir', '../..\n');
        for (const file of ['worktrees/tree/config.worktree', 'config', 'hooks']) {
          const script = `echo x > ${fixture.at(`other/main/store/${file}`)}`;
          await expectFailure(script, readOnlyDisk, true, keeping('other/tree'));
        }
        const moving = `mv ${fixture.at('other/main')} ${fixture.at('other/away')}`;
        await expectFailure(moving, 'Device or resource busy', false, keeping('other/tree'));
      });

      it('protects it whatever way its path is written', async () => {
        for (const name of ['tree/store', 'tree/ store', 'far/inner', 'far/store']) fixture.mkdir(name);
        symlinkSync(fixture.at('tree'), fixture.at('way'));
        symlinkSync(fixture.at('far/inner'), fixture.at('by'));
        const written: readonly (readonly [string | Uint8Array, string])[] = [
          [`gitdir: ${fixture.at('way/store')}\n`, 'tree/store'],
          [`gitdir: ../by/../store\n`, 'far/store'],
          ['gitdir:  store\n', 'tree/ store'],
          [`gitdir: store${'\n'.repeat(5000)}`, 'tree/store'],
          [Buffer.from('gitdir: s\xff\n', 'latin1'), 'tree/s\\xff'],
        ];
        for (const [text, place] of written) {
          fixture.write('tree/.git', text);
          const sandbox = { workspaceRoots: [uri(fixture.at('tree')), uri(fixture.at('far'))] };
          const { stderr, exitCode } = await fixture.run(`mkdir -p $'${fixture.at(place)}/n'`, { sandbox });
          expect([place, exitCode, stderr]).toEqual([place, 1, expect.stringMatching(/Read-only|Not a directory/)]);
        }
      });

      it('shows nothing of it that the policy hides', async () => {
        fixture.write('workspace/sub/.git', `gitdir: ${fixture.outside}\n`);
        const sandbox = { workspaceRoots: [uri(fixture.at('workspace/sub'))] };
        const options = { entries: restrictedRead, sandbox, cwd: fixture.at('workspace/sub') };
        await expectFailure('cat $O/secret', 'No such file', false, options);
      });
    });

    it('has as many workspaces as are named, none if none is', async () => {
      fixture.mkdir('second/.git');
      const sandbox = { workspaceRoots: [uri(fixture.workspace), uri(fixture.at('second'))] };
      await expectSuccess(`echo x > ${fixture.at('second/n')}`, { sandbox });
      await expectFailure(`echo x > ${fixture.at('second/.git/n')}`, readOnlyDisk, true, { sandbox });
      await expectFailure('echo x > n', readOnlyDisk, true, { sandbox: { workspaceRoots: [] } });
    });

    it('gives nothing for a link that a command has put in the place of a missing root', async () => {
      const entries = [...workspaceWrite, path(fixture.at('workspace/build'), 'write'), special('tmpdir', 'write')];
      const options = { entries, env: { TMPDIR: fixture.at('workspace/tmp') } };
      for (const name of ['build', 'tmp']) {
        await expectSuccess(`ln -s $O ${name}`, options);
        const script = 'echo x > $O/n';
        await expectFailure(script, `workspace/${name} is a symbolic link that commands can replace`, false, options);
        expect(existsSync(fixture.at('outside/n'))).toBe(false);
        await expectSuccess(`rm ${name}`);
      }
      await expectSuccess('mkdir build tmp', options);
      await expectSuccess('echo x > build/n; echo x > tmp/n', options);
    });

    it.each(['deny', 'read', 'write'])(
      'builds nothing for a %s entry whose link leads on through a link of commands',
      async (access) => {
        symlinkSync(fixture.outside, fixture.at('workspace/second'));
        symlinkSync('workspace/second', fixture.at('first'));
        const entries = [...workspaceWrite, path(fixture.at('first'), access)];
        const reason = 'workspace/second is a symbolic link that commands can replace';
        await expectFailure('ln -sfn sub second', reason, false, { entries });
      },
    );

    it('ignores writable roots that do not exist and words it does not know', async () => {
      const unknown = special('unknown', 'write', { path: ':future' });
      await expectSuccess('echo x > n', {
        entries: [...workspaceWrite, path(fixture.at('missing'), 'write'), unknown],
      });
    });

    it('writes through a root that is a symbolic link', async () => {
      symlinkSync(fixture.outside, fixture.at('link'));
      await expectSuccess(`echo x > ${fixture.at('link')}/n`, {
        entries: [...readOnly, path(fixture.at('link'), 'write')],
      });
      expect(existsSync(fixture.at('outside/n'))).toBe(true);
    });

    it('takes a single file as a root', async () => {
      const entries = [...readOnly, path(fixture.at('outside/secret'), 'write')];
      await expectSuccess('echo x >> $O/secret', { entries });
      await expectFailure('rm $O/secret', 'cannot remove', true, { entries });
      expect(readFileSync(fixture.at('outside/secret'), 'utf8')).toBe('secret\nx\n');
    });

    it.each(['.git', '.codex'])('refuses a workspace whose %s is a link that could be replaced', async (name) => {
      fixture.mkdir('linked');
      symlinkSync(fixture.outside, fixture.at(`linked/${name}`));
      const outcome = await fixture.run('echo ran', { sandbox: { workspaceRoots: [uri(fixture.at('linked'))] } });
      expect(outcome).toMatchObject({ exitCode: 1, stdout: '', denied: false });
      expect(outcome.stderr).toContain('symbolic link');
    });

    it('makes TMPDIR of the request writable, and nothing without one', async () => {
      const entries = [...readOnly, special('tmpdir', 'write')];
      await expectSuccess('echo x > $O/n', { entries, env: { TMPDIR: fixture.outside } });
      await expectFailure('echo x > $O/n', readOnlyDisk, true, { entries });
      await expectFailure('echo x > n', readOnlyDisk, true, { entries, env: { TMPDIR: '.' } });
    });
  });

  describe('with little to read', () => {
    const options = { entries: restrictedRead };

    it('consists of the system and the workspace', async () => {
      expect((await expectSuccess('ls /', options)).split('\n')).not.toContain('root');
      await expectFailure('cat $O/secret', 'No such file', false, options);
      await expectFailure('ls /root /home /var /opt', 'No such file', false, options);
      const append = `perl -MFcntl -e 'sysopen(my $f, "/etc/passwd", O_WRONLY|O_APPEND) or die "$!\\n"'`;
      await expectFailure(append, account.uid === 0 ? readOnlyDisk : 'Permission denied', true, options);
      await expectSuccess('test ! -e /var && echo x > /newfile; echo x > n', options);
      expect(existsSync('/newfile')).toBe(false);
    });

    it('may leave the command without a program to run, which is no denial', async () => {
      const outcome = await fixture.run('true', { entries: [special('project_roots', 'write')] });
      expect(outcome).toMatchObject({ exitCode: 127, denied: false });
    });

    it('must have the working directory in it', async () => {
      const outcome = await fixture.run('true', { ...options, cwd: fixture.outside });
      expect(outcome).toMatchObject({ exitCode: 1, denied: false });
      expect(outcome.stderr).toContain('cannot enter the working directory');
    });
  });

  describe('with denied parts', () => {
    const denying = (): RunOptions => ({
      entries: [
        ...workspaceWrite,
        path(fixture.at('workspace/a.txt'), 'deny'),
        path(fixture.at('workspace/priv'), 'deny'),
        path(fixture.at('workspace/priv/open'), 'write'),
        glob(`${fixture.workspace}/**/*.env`),
      ],
    });
    beforeEach(() => {
      fixture.mkdir('workspace/priv/open');
      fixture.write('workspace/priv/secret', 's');
      fixture.write('workspace/sub/x.env', 's');
    });

    it.each(['cat a.txt', 'cat sub/x.env', 'ls priv', 'cat priv/secret'])('does not show them: %s', async (script) => {
      const outcome = await fixture.run(script, denying());
      expect(outcome).toMatchObject({ stdout: '' });
      expect(outcome.stderr).toMatch(/Permission denied|No such file/);
    });

    it('cannot be rid of them', async () => {
      await expectFailure('mv a.txt b', 'Device or resource busy', false, denying());
      await expectFailure('rm sub/x.env', 'Device or resource busy', false, denying());
      await expectFailure('chmod 777 a.txt', readOnlyDisk, true, denying());
    });

    it('reopens what a more specific rule allows', async () => {
      await expectSuccess('echo x > priv/open/n', denying());
      expect(existsSync(fixture.at('workspace/priv/open/n'))).toBe(true);
    });

    it('matches patterns against what is there when the command starts', async () => {
      expect(await expectSuccess('echo x > y.env; cat y.env', denying())).toBe('x\n');
    });

    it('matches names that are no UTF-8', async () => {
      const name = Buffer.concat([
        Buffer.from(fixture.at('workspace/sub/k')),
        Buffer.of(0xff, 0xe4),
        Buffer.from('.env'),
      ]);
      writeFileSync(name, 's');
      chownSync(name, account.uid, account.gid);
      const outcome = await fixture.run('cat sub/k*.env; cat sub/k??.env', denying());
      expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
      expect(outcome.stderr).toContain('Permission denied');
    });

    it.each([
      ['deep/*.env', ['deep'], undefined],
      ['deep/**/in/*.env', ['deep', 'deep/er/in'], undefined],
      ['**/*.env', ['deep', 'deep/er', 'deep/er/in'], 4],
    ])('keeps what %s matches from being moved out of it between two commands', async (pattern, held, depth) => {
      for (const folder of ['deep', 'deep/er/in']) {
        fixture.mkdir(`workspace/${folder}`);
        fixture.write(`workspace/${folder}/x.env`, 's');
      }
      const entries = [...workspaceWrite, glob(`${fixture.workspace}/${pattern}`)];
      const file_system = { type: 'restricted', entries, ...(depth !== undefined && { glob_scan_max_depth: depth }) };
      const options = { sandbox: { permissions: { type: 'managed', file_system, network: 'restricted' } } };
      for (const folder of held) {
        const outcome = await fixture.run(`mkdir -p 1/2/3/4; mv ${folder} 1/2/3/4/away`, options);
        expect([folder, outcome.exitCode]).toEqual([folder, 1]);
      }
      expect((await fixture.run('cat $(find . -name x.env)', options)).exitCode).not.toBe(0);
    });

    it.each([
      ['//sub/*.env', 'sub'],
      ['/./sub/../sub/*.env', 'sub'],
      ['/sub/*.env/', 'sub'],
      ['/\\[id\\]/*.env', '[id]'],
      ['/sub/[]x].env', 'sub'],
    ])('does not show what a pattern matches, however it is written: %s', async (pattern, folder) => {
      fixture.mkdir(`workspace/${folder}`);
      fixture.write(`workspace/${folder}/x.env`, 's');
      const entries = [...workspaceWrite, glob(`${fixture.workspace}${pattern}`)];
      expect(await fixture.run(`cat '${folder}/x.env'`, { entries })).toMatchObject({ exitCode: 1, stdout: '' });
    });

    it('matches patterns that begin in a directory with a name like a pattern', async () => {
      fixture.mkdir('workspace/[id]');
      fixture.write('workspace/[id]/x.env', 's');
      const cwd = pathToFileURL(fixture.at('workspace/[id]')).href;
      const entries = [...workspaceWrite, glob('*.env')];
      const outcome = await fixture.run("cat '[id]/x.env'", { entries, sandbox: { cwd } });
      expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
    });

    it('keeps matches in place where the pattern leads through a link, which commands must not be able to replace', async () => {
      symlinkSync(fixture.workspace, fixture.at('way'));
      const entries = [...workspaceWrite, glob(`${fixture.at('way')}/sub/*.env`)];
      expect(await fixture.run('mv sub away', { entries })).toMatchObject({ exitCode: 1 });
      symlinkSync('sub', fixture.at('workspace/lnk'));
      const link = await fixture.run('echo ran', {
        entries: [...workspaceWrite, glob(`${fixture.workspace}/lnk/*.env`)],
      });
      expect(link).toMatchObject({ exitCode: 1, stdout: '', denied: false });
    });

    it('lets directories move that a pattern matches anywhere', async () => {
      await expectSuccess('mv sub moved', denying());
      expect(await fixture.run('cat moved/x.env', denying())).toMatchObject({ exitCode: 1, stdout: '' });
    });

    it('keeps a missing denied path missing', async () => {
      const entries = [...workspaceWrite, path(fixture.at('workspace/nope/deep'), 'deny')];
      await expectFailure('mkdir nope', 'File exists', false, { entries });
      expect(existsSync(fixture.at('workspace/nope'))).toBe(false);
    });

    it('refuses what it could not enforce', async () => {
      const everywhere = await fixture.run('echo ran', { entries: [...workspaceWrite, glob('/**/*.pem')] });
      expect(everywhere).toMatchObject({ exitCode: 1, stdout: '', denied: false });
      symlinkSync(fixture.outside, fixture.at('workspace/lnk'));
      const link = await fixture.run('echo ran', {
        entries: [...workspaceWrite, path(fixture.at('workspace/lnk'), 'deny')],
      });
      expect(link).toMatchObject({ exitCode: 1, stdout: '', denied: false });
    });
  });
});
