import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gitCallHazard, gitHazard } from '../../../src/agent/rules/index.ts';
import { type Answer, EscalationFixture, interceptions } from './fixture.ts';

const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' };
const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, env, stdio: 'pipe' });
const identity = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
};
const author = ['-c', 'user.name=a', '-c', 'user.email=a@b'];

function repository(folder: string): void {
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '-q');
  writeFileSync(join(folder, 'file'), 'text\n');
  git(folder, 'add', 'file');
  git(folder, ...author, 'commit', '-q', '-m', 'first');
}

function executable(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

/** What a repository says, and the command that makes git run the program. */
const traps: readonly (readonly [name: string, set: (folder: string, program: string) => void, command: string])[] = [
  ['core.fsmonitor', (folder, program) => git(folder, 'config', 'core.fsmonitor', program), 'git status'],
  [
    'a filter',
    (folder, program) => {
      git(folder, 'config', 'filter.x.clean', program);
      writeFileSync(join(folder, '.gitattributes'), '* filter=x\n');
      writeFileSync(join(folder, 'file'), 'changed\n');
    },
    'git diff',
  ],
  [
    'textconv',
    (folder, program) => {
      git(folder, 'config', 'diff.x.textconv', program);
      writeFileSync(join(folder, '.gitattributes'), '* diff=x\n');
      writeFileSync(join(folder, 'file'), 'changed\n');
    },
    'git diff',
  ],
  [
    'diff.external',
    (folder, program) => {
      git(folder, 'config', 'diff.external', program);
      writeFileSync(join(folder, 'file'), 'changed\n');
    },
    'git diff',
  ],
  [
    'a hook',
    (folder, program) => executable(join(folder, '.git/hooks/pre-commit'), `#!/bin/sh\n${program}\n`),
    'git commit --allow-empty -m x',
  ],
  [
    'core.hooksPath',
    (folder, program) => {
      executable(join(folder, 'hooks/pre-commit'), `#!/bin/sh\n${program}\n`);
      git(folder, 'config', 'core.hooksPath', 'hooks');
    },
    'git commit --allow-empty -m x',
  ],
  ['core.editor', (folder, program) => git(folder, 'config', 'core.editor', program), 'git commit --allow-empty'],
  [
    'core.sshCommand',
    (folder, program) => {
      git(folder, 'config', 'core.sshCommand', program);
      git(folder, 'config', 'remote.origin.url', 'git@localhost.invalid:x');
    },
    'git fetch',
  ],
  [
    'gpg.program',
    (folder, program) => git(folder, 'config', 'gpg.program', program),
    'git commit --allow-empty -S -m x',
  ],
  [
    'credential.helper',
    (folder, program) => git(folder, 'config', 'credential.helper', program),
    "printf 'protocol=https\\nhost=localhost.invalid\\n\\n' | git credential fill",
  ],
  [
    'an included file',
    (folder, program) => {
      writeFileSync(join(folder, 'more'), `[core]\nfsmonitor = ${program}\n`);
      git(folder, 'config', 'include.path', join(folder, 'more'));
    },
    'git status',
  ],
  [
    'a nested repository',
    (folder, program) => {
      repository(join(folder, 'nested'));
      git(folder, 'add', 'nested');
      git(join(folder, 'nested'), 'config', 'core.fsmonitor', program);
    },
    'git status',
  ],
  [
    'a nested repository whose name is no UTF-8',
    (folder, program) => {
      const script = `mkdir $'n\\xff' && cd $'n\\xff' && git init -q && git commit -qm x --allow-empty && cd .. && git add $'n\\xff'
        git -C $'n\\xff' config core.fsmonitor ${program}`;
      execFileSync('bash', ['-c', script], { cwd: folder, env: { ...env, ...identity }, stdio: 'pipe' });
    },
    'git status',
  ],
  [
    'a directory whose name is no UTF-8, where another has the name that this is taken for',
    (folder, program) => {
      const script = `cp -r .git $'g\\xff'; mv .git $'g\\xef\\xbf\\xbd'; printf 'gitdir: g\\xff\\n' > .git
        git config core.fsmonitor ${program}`;
      execFileSync('bash', ['-c', script], { cwd: folder, env, stdio: 'pipe' });
    },
    'git status',
  ],
];

describe.each(interceptions)('git that a rule allows (--intercept=%s)', (intercept) => {
  const rules = 'prefix_rule(pattern = ["git"])';
  const environment = { ...env, ...identity, LANG: 'C.UTF-8' };

  it.each(traps)('runs no program of its repository outside: %s', async (_name, set, command) => {
    await using fixture = await EscalationFixture.open({ intercept, rules, shell: { environment } });
    repository(fixture.work);
    executable(join(fixture.outside, 'program'), `#!/bin/sh\n: > ${fixture.outside}/escaped\nexit 1\n`);
    set(fixture.work, join(fixture.outside, 'program'));

    await fixture.run(`${command}; true`);

    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
    expect(fixture.warnings).toContainEqual(['exec.kept_inside', expect.objectContaining({ file: '/usr/bin/git' })]);
  });

  it.each([
    ['a program that rules allow, too', 'timeout 20 git status'],
    ['a program that stays inside', "printf 'all:\\n\\tgit status\\n' > Makefile; make; sh -c 'git status'"],
    ['its absolute path', '/usr/bin/git status; /usr/lib/git-core/git status; git -C . status'],
    ['variables that lead it there', 'cd /; GIT_DIR="$OLDPWD/.git" GIT_WORK_TREE="$OLDPWD" git status'],
  ])('runs none, either, by %s', async (_name, command) => {
    const both = `${rules}\nprefix_rule(pattern = ["timeout"])`;
    await using fixture = await EscalationFixture.open({ intercept, rules: both, shell: { environment } });
    repository(fixture.work);
    executable(join(fixture.outside, 'program'), `#!/bin/sh\n: > ${fixture.outside}/escaped\nexit 1\n`);
    git(fixture.work, 'config', 'core.fsmonitor', join(fixture.outside, 'program'));

    await fixture.run(`${command}; true`);

    expect(existsSync(join(fixture.outside, 'escaped'))).toBe(false);
  });

  it('leaves the sandbox where its repository names none, and asks where it does', async () => {
    await using fixture = await EscalationFixture.open({
      intercept,
      rules,
      shell: { environment },
      answer: (): Answer => ({ action: 'decline' }),
    });
    repository(fixture.work);
    const { stdout } = await fixture.run('git commit -q --allow-empty -m second; git log --format=%s');
    git(fixture.work, 'config', 'core.fsmonitor', '/x');
    await fixture.run('git status');

    expect(stdout).toBe('second\nfirst\n');
    expect(fixture.peer.questions.map(({ message }) => message.split('\n').slice(1))).toEqual([
      [`${fixture.work}/.git/config says fsmonitor = /x`, 'It runs outside the sandbox.'],
    ]);
  });
});

describe('a repository is a hazard', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hazard-'));
    repository(folder);
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const hazard = (...args: string[]) => gitHazard(args, { cwd: folder, isWritable: () => false });

  it.each([
    '[core] fsmonitor = x',
    '[CORE]\n\tFsMonitor=x',
    '[core]\n pager = x',
    '[core]\nquotepath = a \\\nfsmonitor = x',
    '[core]\n# harmless \\\nfsmonitor = x',
    '[credential "https://x"]\nhelper = x',
    '[credential]\nhelper = !x',
    '[gpg "ssh"]\nprogram = x',
    '[alias]\nst = !x',
    '[merge "x"]\ndriver = x',
    '[submodule "x"]\nupdate = !x',
    '[remote "o"]\nurl = ext::x',
    '[remote "o"]\nurl = ../evil.git',
    '[remote "o"]\nuploadpack = x',
    '[branch "main"]\nremote = ../evil',
    '[branch "main"]\nremote = evil',
    '[branch "main"]\npushRemote = sub/evil\n[remote "sub"]\nurl = https://example.com/x',
    '[url "ext::x"]\ninsteadOf = https:',
    '[includeIf "gitdir:/"]\npath = x',
    '[core]\nworktree = /',
    '[unheard]\nof = x',
    'x',
  ])('with %j', async (text) => {
    appendFileSync(join(folder, '.git/config'), `${text}\n`);
    expect(await hazard('status')).toMatch(/config says/);
  });

  it.each([
    [['-c', 'core.fsmonitor=x', 'status'], '-c'],
    [['--exec-path=/x', 'status'], '--exec-path'],
    [['--git-dir', '/x', 'status'], '--git-dir'],
    [['submodule', 'foreach', 'x'], 'other programs'],
    [['bisect', 'run', 'x'], 'other programs'],
    [['unknown'], 'other programs'],
    [['rebase', '--exec', 'x'], '--exec'],
    [['rebase', '-x', 'x'], '-x'],
    [['grep', '-Ox', 'a'], '-Ox'],
    [['fetch', '--upload-pack=x'], '--upload-pack'],
    [['fetch', '--upload-p', 'x'], '--upload-p'],
    [['clone', '-c', 'core.fsmonitor=x', 'https://example.com/x'], '-c'],
    [['config', '--global', 'core.pager', 'x'], 'config'],
    [['config', 'core.pager', 'x'], 'writes'],
    [['push', '.'], 'repository .'],
    [['push', 'evil', 'main'], 'repository evil'],
    [['push', '--repo=evil'], '--repo'],
    [['fetch', '--depth', '1', 'evil'], 'repository evil'],
    [['archive', '--remote=evil', '--format=x', 'HEAD'], '--remote'],
    [['clone', '--recursive', 'https://example.com/x'], '--recursive'],
    [['log', '--output=/home/user/.profile', '--format=x'], '--output'],
    [['diff', '--output', '/home/user/.profile', '--no-index', 'a', 'b'], '--output'],
    [['reflog', '--output=/home/user/.profile', '--format=x'], '--output'],
    [['blame', '--outp=/home/user/.profile', 'file'], '--outp'],
    [['config', 'edit'], 'writes'],
  ])('by the arguments %j', async (args, reason) => {
    expect(await hazard(...args)).toContain(reason);
  });

  it('with a rebase under way, which may execute anything, and with a pipe for a configuration', async () => {
    mkdirSync(join(folder, '.git/rebase-merge'));
    writeFileSync(join(folder, '.git/rebase-merge/git-rebase-todo'), 'exec x\n');
    expect(await hazard('rebase', '--continue')).toContain('git-rebase-todo');

    rmSync(join(folder, '.git/config'));
    execFileSync('mkfifo', [join(folder, '.git/config')]);
    expect(await hazard('status')).toContain('cannot be read');
  });

  it('with repositories of submodules, which a fetch goes into, checked out or not', async () => {
    mkdirSync(join(folder, '.git/modules/x'), { recursive: true });
    expect(await hazard('fetch')).toContain('modules');
  });

  it('with another worktree whose own configuration names a program', async () => {
    git(folder, 'worktree', 'add', '-q', join(folder, 'tree'));
    git(folder, 'config', 'extensions.worktreeConfig', 'true');
    git(join(folder, 'tree'), 'config', '--worktree', 'core.fsmonitor', 'x');
    expect(await hazard('worktree', 'remove', 'tree')).toContain('config.worktree says');
  });

  it.each(['timeout 5 git status', 'env -i /usr/bin/git status', 'xargs git log', 'nice -n 1 git fetch'])(
    'that cannot be seen through another program: %s',
    async (line) => {
      const options = { cwd: folder, isWritable: () => false };
      expect(await gitCallHazard(line.split(' '), options)).toContain('git is run by');
      expect(await gitCallHazard(['grep', 'git', 'file'], options)).toBeUndefined();
    },
  );

  it('with remotes in an old form, for which nothing in its configuration stands', async () => {
    mkdirSync(join(folder, '.git/remotes'), { recursive: true });
    writeFileSync(join(folder, '.git/remotes/origin'), 'URL: evil\n');
    expect(await hazard('push')).toContain('remotes');
  });

  it.each([
    ['a HEAD that is a link', (at: string) => symlinkSync('refs/heads/main', join(at, 'HEAD'))],
    [
      'its objects elsewhere',
      (at: string) => {
        rmSync(join(at, 'objects'), { recursive: true });
        mkdirSync(join(at, '../common/objects'), { recursive: true });
        mkdirSync(join(at, '../common/refs'));
        writeFileSync(join(at, 'HEAD'), 'ref: refs/heads/main\n');
        writeFileSync(join(at, 'commondir'), '../common\n');
      },
    ],
  ])('where a bare one is part of its content, with %s', async (_name, make) => {
    const bare = join(folder, 'bare');
    for (const name of ['objects', 'refs']) mkdirSync(join(bare, name), { recursive: true });
    make(bare);
    const config = existsSync(join(folder, 'common')) ? join(folder, 'common/config') : join(bare, 'config');
    writeFileSync(config, '[core]\nbare = false\nworktree = ..\nfsmonitor = x\n');

    expect(String(git(bare, 'rev-parse', '--git-dir')).trim()).toBe('.');
    expect(await hazard('-C', 'bare', 'status')).toContain('config says');
  });

  it('where a bare one is part of its content, behind a link', async () => {
    for (const name of ['objects', 'refs', 'in/deep']) mkdirSync(join(folder, 'bare', name), { recursive: true });
    writeFileSync(join(folder, 'bare/HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(folder, 'bare/config'), '[core]\nbare = false\nworktree = ..\nfsmonitor = x\n');
    symlinkSync('bare/in/deep', join(folder, 'link'));

    expect(await hazard('-C', 'link', 'status')).toContain('config says');
    expect(await hazard('-C', 'link/..', 'status')).toContain('config says');
    expect(await gitHazard(['status'], { cwd: join(folder, 'link'), isWritable: () => false })).toContain(
      'config says',
    );
  });

  it('where git passes over a nested one that is none', async () => {
    mkdirSync(join(folder, 'nested/.git'), { recursive: true });
    git(folder, 'config', 'core.fsmonitor', 'x');

    expect(await hazard('-C', 'nested', 'status')).toContain('config says');
  });

  it('when commands could put another one in its place', async () => {
    mkdirSync(join(folder, 'deep'));
    const at = (cwd: string, writable: string) =>
      gitHazard(['status'], { cwd, isWritable: (path) => path === writable });

    expect(await at(folder, join(homedir(), '.gitconfig'))).toContain('commands can write');
    expect(await at(folder, join(folder, '.git/config'))).toContain('commands can write');
    expect(await at(join(folder, 'deep'), join(folder, 'deep/.git'))).toContain('commands can write');
    expect(await at(join(folder, 'deep'), join(folder, 'deep/HEAD'))).toContain('commands can write');
    expect(await at(folder, join(folder, 'file'))).toBeUndefined();
  });

  it.each([
    ['includes', '[include]\n\tpath = PLACE'],
    ['includes by way of another', '[includeIf "gitdir:~/"]\n\tpath = other'],
    ['names for its hooks', '[core]\n\thooksPath = "PLACE"'],
    ['names as a program', '[credential]\n\thelper = "!PLACE get"'],
  ])('when the configuration of the user is writable in what it %s', async (_, text) => {
    const place = join(folder, 'place');
    const config = join(folder, 'user-config');
    writeFileSync(config, text.replace('PLACE', place));
    writeFileSync(join(folder, 'other'), `[include]\n\tpath = ${place}\n`);
    const variables = { GIT_CONFIG_GLOBAL: config };

    expect(await gitHazard(['status'], { cwd: folder, variables, isWritable: (path) => path === place })).toBe(
      `commands can write ${place}`,
    );
    expect(await gitHazard(['status'], { cwd: folder, variables, isWritable: () => false })).toBeUndefined();
    writeFileSync(config, `[safe]\n\tdirectory = ${place}\n`);
    expect(
      await gitHazard(['status'], { cwd: folder, variables, isWritable: (path) => path === place }),
    ).toBeUndefined();
  });

  it('not as git makes it, clones it and adds worktrees to it', async () => {
    git(folder, 'remote', 'add', 'origin', 'https://example.com/x.git');
    git(folder, 'config', 'branch.main.remote', 'origin');
    git(folder, 'config', 'user.email', 'a@b');
    git(folder, 'worktree', 'add', '-q', join(folder, 'tree'));

    expect(await hazard('status')).toBeUndefined();
    expect(await hazard('-C', 'tree', 'log', '-1')).toBeUndefined();
    for (const line of [
      'push -u origin main',
      'clean -fdx',
      'cherry-pick -x a',
      'config --get user.email',
      'add -u',
      'diff -u',
      'diff --output-indicator-new=x',
      'format-patch --output-directory x -1',
    ]) {
      expect(await hazard(...line.split(' '))).toBeUndefined();
    }
    expect(await gitHazard(['status'], { cwd: '/', isWritable: () => false })).toBeUndefined();
  });
});
