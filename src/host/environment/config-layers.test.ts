import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadLayers } from './config-layers.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'layers-'));
});
afterEach(() => rm(root, { recursive: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

const trusting = (...projects: string[]) =>
  projects.map((path) => `[projects."${join(root, path)}"]\ntrust_level = "trusted"\n`).join('');

const load = (cwd: string) =>
  loadLayers(join(root, cwd), { codexHome: join(root, 'home'), systemFolder: join(root, 'etc') });

/** The folders, below the root, of the layers that set a model. */
async function foldersWithModel(cwd: string): Promise<string[]> {
  const { layers } = (await load(cwd)).config;
  return layers.filter(({ toml }) => 'model' in toml).map(({ baseDir }) => baseDir.slice(root.length + 1));
}

async function repository(path: string): Promise<void> {
  await write(`${path}/.git/HEAD`, 'ref: refs/heads/main\n');
  await write(`${path}/.codex/config.toml`, `model = "${path}"\n`);
}

describe('the layers of configuration', () => {
  it('are those of the system, the user, the project and the managed configuration, in this order', async () => {
    await repository('p');
    await write('p/sub/.codex/config.toml', 'model = "sub"');
    await write('etc/config.toml', 'model = "system"');
    await write('home/config.toml', `model = "user"\n${trusting('p')}`);
    await write('etc/managed_config.toml', 'model = "managed"');
    const { config } = await load('p/sub');
    expect(config.layers.map(({ source }) => source.replaceAll(root, ''))).toEqual([
      'system (/etc/config.toml)',
      'user (/home/config.toml)',
      'project (/p/.codex/config.toml)',
      'project (/p/sub/.codex/config.toml)',
      'legacy managed_config.toml (/etc/managed_config.toml)',
    ]);
    expect(config.belowCloud).toBe(1);
  });

  it('leave out projects that the user does not trust', async () => {
    await repository('p');
    expect(await foldersWithModel('p')).toEqual([]);
    await write('home/config.toml', trusting('p'));
    expect(await foldersWithModel('p')).toEqual(['p/.codex']);
    await write('home/config.toml', trusting('p').replace('trusted', 'untrusted'));
    expect(await foldersWithModel('p')).toEqual([]);
  });

  it('prefer the trust level of a folder to that of its project', async () => {
    await repository('p');
    await write('p/sub/.codex/config.toml', 'model = "sub"');
    await write('home/config.toml', trusting('p/sub'));
    expect(await foldersWithModel('p/sub')).toEqual(['p/sub/.codex']);
    await write('home/config.toml', trusting('p') + trusting('p/sub').replace('trusted', 'untrusted'));
    expect(await foldersWithModel('p/sub')).toEqual(['p/.codex']);
  });

  it('trust a project also through a link', async () => {
    await repository('p');
    await symlink(join(root, 'p'), join(root, 'link'));
    await write('home/config.toml', trusting('p'));
    expect(await foldersWithModel('link')).toEqual(['link/.codex']);
  });

  it('do not take an empty .git for the root of a project', async () => {
    await write('p/.codex/config.toml', 'model = "p"');
    await mkdir(join(root, 'p/.git'));
    await mkdir(join(root, 'p/sub'));
    await write('home/config.toml', trusting('p'));
    expect(await foldersWithModel('p/sub')).toEqual([]);
  });

  it('do not let a repository choose where credentials go or what runs on its own', async () => {
    await repository('p');
    const refused = 'openai_base_url = "x"\nnotify = ["x"]\n[model_providers.x]\nbase_url = "x"\n';
    await write(
      'p/.codex/config.toml',
      `model = "m"\n${refused}[features]\nrespect_system_proxy = true\nother = true\n`,
    );
    await write('home/config.toml', trusting('p'));
    const { layers } = (await load('p')).config;
    expect(layers[2]!.toml).toEqual({ model: 'm', features: { other: true } });
  });

  it('share the trust and the hooks of the checkout a worktree is linked to', async () => {
    await write('main/.git/HEAD', 'ref: refs/heads/main\n');
    await write('main/.git/worktrees/linked/commondir', '../..\n');
    await write('main/.git/worktrees/linked/gitdir', `${join(root, 'linked/.git')}\n`);
    await write('linked/.git', `gitdir: ${join(root, 'main/.git/worktrees/linked')}\n`);
    await write('main/.codex/config.toml', '[hooks]\nof = "main"\n');
    await write('linked/.codex/config.toml', 'model = "m"\n[hooks]\nof = "linked"\n');
    await write('home/config.toml', trusting('main'));
    const { layers } = (await load('linked')).config;
    expect(layers.slice(2, 4).map(({ toml }) => toml)).toEqual([{ model: 'm' }, { hooks: { of: 'main' } }]);
  });

  it('do not believe a .git file that claims a repository which does not know it', async () => {
    await repository('main');
    await write('main/.git/worktrees/w/commondir', '../..\n');
    await write('main/.git/worktrees/w/gitdir', join(root, 'elsewhere/.git'));
    await write('false/.git', `gitdir: ${join(root, 'main/.git/worktrees/w')}\n`);
    await write('false/.codex/config.toml', 'model = "false"');
    await write('home/config.toml', trusting('main'));
    expect(await foldersWithModel('false')).toEqual([]);
  });

  it('leave out the project folder if it is the home of Codex', async () => {
    await write('.git/HEAD', '');
    await symlink(join(root, 'home'), join(root, '.codex'));
    await write('home/config.toml', `model = "user"\n[projects."${root}"]\ntrust_level = "trusted"\n`);
    expect(await foldersWithModel('')).toEqual(['home']);
  });

  it.each([
    ['home/config.toml', 'model = [', /home\/config\.toml:1:\d+: /],
    ['etc/requirements.toml', 'a = ', /failed to parse requirements layer .*requirements\.toml: /],
    ['home/config.toml', 'project_root_markers = 3', /project_root_markers must be an array of strings$/],
    ['etc/managed_config.toml', 'sandbox_mode = "none"', /unknown variant `none`, expected one of `read-only`, /],
  ])('fail with the error in %s', async (path, text, message) => {
    await write(path, text);
    await expect(load('')).rejects.toThrow(message);
  });
});

describe('the layers of requirements', () => {
  it('contain requirements, and managed settings as lists of allowed values', async () => {
    await write('etc/requirements.toml', 'allowed_sandbox_modes = ["read-only"]');
    await write(
      'etc/managed_config.toml',
      'approval_policy = "never"\napprovals_reviewer = "auto_review"\nsandbox_mode = "workspace-write"',
    );
    const { layers, belowCloud } = (await load('')).requirements;
    expect(layers.map(({ toml }) => toml)).toEqual([
      { allowed_sandbox_modes: ['read-only'] },
      {
        allowed_approval_policies: ['never'],
        allowed_approvals_reviewers: ['auto_review', 'user'],
        allowed_sandbox_modes: ['read-only', 'workspace-write'],
      },
    ]);
    expect(belowCloud).toBe(1);
  });
});
