import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policyOf } from '../../../../test/support/policy.ts';
import { type Access, type AccessPolicy, accessOf } from '../policy/resolution.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import { type MountPlan, planMounts } from './plan.ts';
import { PROTECTED_NAMES } from './protected-names.ts';

let folder: string;
const names = ['a', 'b', 'a/a', 'a/b', 'b/a', 'a/a/a', 'a/b/b'];
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'exec-server-plan-')));
  for (const name of names) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'file'), 'x');
});
afterAll(() => rmSync(folder, { recursive: true }));

const plan = (rules: readonly (readonly [string, Access])[], more?: Partial<AccessPolicy>): MountPlan =>
  planMounts(policyOf(rules, more), { firstEmpty: 7 });

const meanings: Readonly<Record<string, Access>> = {
  '--bind': 'write',
  '--ro-bind': 'read',
  '--ro-bind-try': 'read',
  '--tmpfs': 'deny',
  '--ro-bind-data': 'deny',
};

/** The access to a path in the view: by the last mount on it or above it. */
function accessIn({ args }: MountPlan, path: string): Access {
  let access: Access = 'deny';
  for (let at = 0; at < args.length; at++) {
    const meaning = meanings[args[at]!];
    if (meaning === undefined) continue;
    const target = args[at] === '--tmpfs' ? args[at + 1]! : args[at + 2]!;
    const isProtection = args[at] === '--tmpfs' && args[at - 1] === '555';
    if (target === '/' || target === path || path.startsWith(`${target}/`)) access = isProtection ? 'read' : meaning;
  }
  return access;
}

describe('a plan of mounts', () => {
  it('gives every path the access of its nearest rule', () => {
    const anyRules = fc.dictionary(fc.constantFrom('', ...names), fc.constantFrom<Access>('read', 'write', 'deny'));
    const base = fc.constantFrom<Access>('read', 'write', 'deny');
    fc.assert(
      fc.property(anyRules, base, (dictionary, root) => {
        const rules = new Map<string, Access>([['/', root]]);
        for (const [name, access] of Object.entries(dictionary)) rules.set(join(folder, name), access);
        const made = plan([...rules]);
        for (const name of names) {
          const path = join(folder, name);
          expect([name, accessIn(made, path)]).toEqual([name, accessOf(rules, path)]);
        }
      }),
    );
  });

  it('mounts what contains before what is contained, and seals what is denied last', () => {
    const { args } = plan([
      ['/', 'read'],
      [join(folder, 'a'), 'deny'],
      [join(folder, 'a/a'), 'write'],
    ]);
    const text = args.join(' ');
    const steps = [
      '--ro-bind / / --dev /dev',
      `--perms 111 --tmpfs ${folder}/a`,
      `--bind ${folder}/a/a ${folder}/a/a`,
      `--remount-ro ${folder}/a`,
    ].map((step) => text.indexOf(step));
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(steps).not.toContain(-1);
    expect(text.endsWith(`--remount-ro ${folder}/a`)).toBe(true);
  });

  it('holds in place what lies between a writable directory and a rule below it', () => {
    const held = (more: readonly string[] = []) => {
      const rules = [['/', 'read'] as const, [folder, 'write'] as const, [join(folder, 'a/b/b'), 'read'] as const];
      const { args } = planMounts(policyOf(rules), { deniedMatches: more, firstEmpty: 7 });
      return args.filter((_, at) => args[at - 1] === '--bind').map((path) => path.slice(folder.length));
    };
    expect(held()).toEqual(['', '/a', '/a/b']);
    // A match of a pattern is hidden wherever it is moved to, and there may be thousands of matches.
    expect(held([join(folder, 'b/a')])).toEqual(['', '/a', '/a/b']);
  });

  it('hides what a pattern matches after what is held in place around it', () => {
    const rules = [['/', 'read'] as const, [folder, 'write'] as const, [join(folder, 'a/b/b'), 'read'] as const];
    const made = planMounts(policyOf(rules), { deniedMatches: [join(folder, 'a/a')], firstEmpty: 7 });
    expect(accessIn(made, join(folder, 'a/a/a'))).toBe('deny');
  });

  it('covers protected names of a writable directory, and counts them as mount points', () => {
    const made = plan([
      ['/', 'read'],
      [join(folder, 'b'), 'write'],
    ]);
    expect([...made.mountPoints].sort()).toEqual(PROTECTED_NAMES.map((name) => join(folder, 'b', name)).sort());
    for (const name of PROTECTED_NAMES) expect(accessIn(made, join(folder, 'b', name))).toBe('read');
    expect(accessIn(made, join(folder, 'b/a/.git'))).toBe('write');
  });

  it('protects nothing below a writable file', () => {
    const made = plan([
      ['/', 'read'],
      [join(folder, 'file'), 'write'],
    ]);
    expect(made).toMatchObject({ mountPoints: [], emptyFiles: 0 });
  });

  it('numbers the empty files it needs from where it is told', () => {
    const made = plan([
      ['/', 'read'],
      [join(folder, 'file'), 'deny'],
      [join(folder, 'a'), 'write'],
      [join(folder, 'a/missing/x'), 'deny'],
      [join(folder, 'a/missing/y'), 'deny'],
    ]);
    expect(made.emptyFiles).toBe(2);
    expect(made.args.filter((_, at) => made.args[at - 1] === '--ro-bind-data')).toEqual(['7', '8']);
    expect(made.mountPoints).toContain(join(folder, 'a/missing'));
  });

  it('leaves out rules for what is missing when they say so', () => {
    const rules = [
      { path: '/', access: 'read', skipMissing: false },
      { path: join(folder, 'a'), access: 'write', skipMissing: false },
      { path: join(folder, 'a/missing'), access: 'read', skipMissing: true },
    ] as const;
    const made = planMounts(policyOf([], { rules }), { firstEmpty: 7 });
    expect(made.args.join(' ')).not.toContain('missing');
  });

  it('shows links to what is readable where the root is empty', () => {
    symlinkSync('a', join(folder, 'link'));
    const made = plan([[join(folder, 'link'), 'read']]);
    expect(made.args.join(' ')).toContain(`--symlink ${folder}/a ${folder}/link`);
    expect(accessIn(made, join(folder, 'a/a'))).toBe('read');
    rmSync(join(folder, 'link'));
  });

  it('refuses to rely on a link that can be replaced', () => {
    symlinkSync('../b', join(folder, 'a/link'));
    const rules = [
      ['/', 'read'],
      [join(folder, 'a'), 'write'],
    ] as const;
    expect(() => plan([...rules, [join(folder, 'a/link'), 'deny']])).toThrow(UnenforceablePolicy);
    expect(() => plan([...rules, [join(folder, 'a/link/x'), 'read']])).toThrow(UnenforceablePolicy);
    expect(() =>
      plan([
        ['/', 'read'],
        [join(folder, 'a/link'), 'deny'],
      ]),
    ).not.toThrow();
    rmSync(join(folder, 'a/link'));
  });

  describe('tells where commands find the program that is to run first,', () => {
    const visible = (rules: readonly (readonly [string, Access])[], program = join(folder, 'a/program')) =>
      planMounts(policyOf(rules), { firstEmpty: 7, program }).visibleProgram;
    const readable = [['/', 'read']] as const;
    beforeAll(() => {
      mkdirSync(join(folder, 'closed'));
      for (const name of ['a/program', 'closed/program', 'plain'])
        writeFileSync(join(folder, name), '', { mode: 0o755 });
      symlinkSync('a/program', join(folder, 'program'));
      chmodSync(join(folder, 'plain'), 0o644);
      chmodSync(join(folder, 'closed'), 0o600);
    });
    afterAll(() => chmodSync(join(folder, 'closed'), 0o700));

    it('which is its own place', () => expect(visible(readable)).toBe(join(folder, 'a/program')));
    it('without links', () => expect(visible(readable, join(folder, 'program'))).toBe(join(folder, 'a/program')));
    it('where nothing else is shown', () =>
      expect(visible([[join(folder, 'a'), 'read']])).toBe(join(folder, 'a/program')));

    it.each<[string, readonly (readonly [string, Access])[], string]>([
      ['it is hidden', [...readable, ['@/a', 'deny']], '@/a/program'],
      ['nothing is shown', [['@/b', 'read']], '@/a/program'],
      ['commands could change it', [...readable, ['@', 'write']], '@/a/program'],
      ['it cannot be executed', readable, '@/plain'],
      ['its directory cannot be searched', readable, '@/closed/program'],
      ['it is missing', readable, '@/missing'],
      ['a device has its place', readable, '/dev/null'],
    ])('unless %s', (_, rules, program) => {
      const here = (path: string) => path.replace('@', folder);
      const given = rules.map(([path, access]) => [here(path), access] as const);
      expect(visible(given, here(program))).toBeUndefined();
    });
  });
});
