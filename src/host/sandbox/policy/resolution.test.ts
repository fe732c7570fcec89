import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, type PathUri, sandbox as sandboxSchema } from '../../../protocol/index.ts';
import { type Access, type AccessPolicy, accessOf, hasFullRead, needsCwd, resolvePolicy } from './resolution.ts';

const special = (kind: string, access: string, more: object = {}) => ({
  path: { type: 'special', value: { kind, ...more } },
  access,
});
const path = (at: string, access: string) => ({ path: { type: 'path', path: `file://${at}` }, access });
const glob = (pattern: string, access = 'deny') => ({ path: { type: 'glob_pattern', pattern }, access });

const sandboxOf = (permissions: unknown, more: object = {}) =>
  decode(sandboxSchema, { permissions, windowsSandboxLevel: 'disabled', ...more });

const managed = (entries: readonly unknown[], network = 'restricted') => ({
  type: 'managed',
  file_system: { type: 'restricted', entries },
  network,
});

const roots = { workspaceRoots: ['file:///w', 'file:///v'] };

function resolve(permissions: unknown, more: object = roots, tmpdir?: string): AccessPolicy {
  return resolvePolicy(sandboxOf(permissions, more), {
    cwd: () => '/cwd',
    tmpdir,
    toNative: (uri: PathUri) => uri.toNative() as string,
  });
}

const rulesOf = (policy: AccessPolicy) => policy.rules.map(({ path, access }) => `${access} ${path}`);

describe('a permission profile', () => {
  it.each([
    [{ type: 'disabled' }, { unrestricted: true, network: 'enabled' }],
    [
      { type: 'external', network: 'restricted' },
      { unrestricted: true, network: 'restricted' },
    ],
    [
      { type: 'managed', file_system: { type: 'unrestricted' }, network: 'enabled' },
      { unrestricted: true, network: 'enabled' },
    ],
    [managed([special('root', 'write')]), { unrestricted: true, network: 'restricted' }],
    [managed([special('root', 'write'), path('/x', 'read')]), { unrestricted: false }],
    [managed([special('root', 'write'), special('minimal', 'read')]), { unrestricted: true }],
    [managed([special('root', 'write'), glob('/x/*')]), { unrestricted: false }],
  ])('%j', (permissions, expected) => {
    expect(resolve(permissions)).toMatchObject(expected);
  });

  it('has one rule per workspace root, below it if it says so', () => {
    expect(rulesOf(resolve(managed([special('project_roots', 'write')])))).toEqual(['write /w', 'write /v']);
    expect(rulesOf(resolve(managed([special('project_roots', 'read', { subpath: 'a/b' })])))).toEqual([
      'read /w/a/b',
      'read /v/a/b',
    ]);
    expect(rulesOf(resolve(managed([special('project_roots', 'write')]), {}))).toEqual([]);
  });

  it('understands the older words', () => {
    const policy = resolve(managed([special('current_working_directory', 'none')]));
    expect(rulesOf(policy)).toEqual(['deny /w', 'deny /v']);
  });

  it('takes the context that carries directories when they are not given directly', () => {
    const policyContext = { cwd: 'file:///c', workspaceRoots: ['file:///p'] };
    expect(rulesOf(resolve(managed([special('project_roots', 'write')]), { policyContext }))).toEqual(['write /p']);
  });

  it('takes TMPDIR only if it is absolute and not the whole disk', () => {
    const permissions = managed([special('tmpdir', 'write')]);
    expect(rulesOf(resolve(permissions, roots, '/scratch/'))).toEqual(['write /scratch']);
    for (const tmpdir of ['.', '', 'scratch', '/', '//x/..', undefined]) {
      expect(rulesOf(resolve(permissions, roots, tmpdir))).toEqual([]);
    }
  });

  it('lets deny win over write and write over read on the same path', () => {
    expect(rulesOf(resolve(managed([path('/x', 'read'), path('/x/', 'write')])))).toEqual(['write /x']);
    expect(rulesOf(resolve(managed([path('/x', 'deny'), path('/y/../x', 'write')])))).toEqual(['deny /x']);
  });

  it('ignores words it does not know, and patterns that deny nothing', () => {
    const entries = [special('unknown', 'write', { path: ':future' }), glob('/x/*', 'write')];
    expect(resolve(managed(entries))).toMatchObject({ rules: [], deniedGlobs: [] });
  });

  it('starts patterns in the workspace roots or the working directory', () => {
    const entries = [glob('/abs/*'), glob('rel/*'), glob('codex-project-roots://**/*.env')];
    expect(resolve(managed(entries)).deniedGlobs).toEqual(['/abs/*', '/cwd/rel/*', '/w/**/*.env', '/v/**/*.env']);
  });

  it('can be read everywhere only without a denied part', () => {
    expect(hasFullRead(resolve(managed([special('root', 'read')])))).toBe(true);
    expect(hasFullRead(resolve(managed([special('root', 'read'), path('/x', 'deny')])))).toBe(false);
    expect(hasFullRead(resolve(managed([special('root', 'read'), glob('/x/*')])))).toBe(false);
    expect(hasFullRead(resolve(managed([special('minimal', 'read')])))).toBe(false);
    expect(resolve(managed([special('minimal', 'read')])).minimal).toBe(true);
    expect(resolve(managed([special('minimal', 'deny')])).minimal).toBe(false);
  });

  it('needs a working directory for project roots and relative patterns', () => {
    expect(needsCwd(sandboxOf(managed([special('project_roots', 'write')])))).toBe(true);
    expect(needsCwd(sandboxOf(managed([glob('*.env')])))).toBe(true);
    expect(needsCwd(sandboxOf(managed([glob('/x/*.env'), special('root', 'read')])))).toBe(false);
    expect(needsCwd(sandboxOf({ type: 'disabled' }))).toBe(false);
  });
});

describe('the access to a path', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const anyPath = fc.array(name, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
  const anyRules = fc.dictionary(anyPath, fc.constantFrom<Access>('read', 'write', 'deny'));

  it('is that of the rule with the most path components around it', () => {
    fc.assert(
      fc.property(anyRules, anyPath, (dictionary, at) => {
        const rules = new Map(Object.entries(dictionary));
        const around = [...rules.keys()].filter((rule) => rule === '/' || rule === at || at.startsWith(`${rule}/`));
        const nearest = around.sort((a, b) => b.length - a.length)[0];
        expect(accessOf(rules, at)).toBe(nearest === undefined ? 'deny' : rules.get(nearest));
      }),
    );
  });

  it('does not change by a rule somewhere else', () => {
    fc.assert(
      fc.property(anyRules, anyPath, (dictionary, at) => {
        const rules = new Map(Object.entries(dictionary));
        const before = accessOf(rules, at);
        rules.set(posix.join(at, 'below'), 'write');
        rules.set('/elsewhere', 'deny');
        expect(accessOf(rules, at)).toBe(before);
      }),
    );
  });
});
