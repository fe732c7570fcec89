import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ExecRequest } from './exec-request.ts';
import { trustOf } from './trust.ts';
import { SandboxWritablePaths, WritablePathMemory } from './writable-paths.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'trust-')));
afterAll(() => rmSync(root, { recursive: true }));
const at = (path: string): string => join(root, path);

for (const folder of ['safe', 'work']) mkdirSync(at(folder));
symlinkSync(at('work'), at('alias'));
const executable = (path: string, text: string): void => {
  writeFileSync(at(path), text);
  chmodSync(at(path), 0o755);
};
executable('safe/tool', '#!/bin/sh\n');
executable('safe/nested', `#!${at('safe/tool')}\n`);
executable('safe/planted', `#! ${at('work/shell')} -x\n`);
executable('safe/relative', '#!shell\n');
executable('safe/round', `#!${at('safe/round')}\n`);
executable('work/shell', '');
executable('work/tool', '');

const rule = (path: string, access: 'read' | 'write') => ({ path, access, skipMissing: false });
const policy = (...rules: ReturnType<typeof rule>[]) => ({
  network: 'restricted' as const,
  unrestricted: false,
  rules,
  deniedGlobs: [],
  globDepth: undefined,
  minimal: false,
});
// The writable directory is known by another name, as TMPDIR often is.
const writable = new SandboxWritablePaths(policy(rule('/', 'read'), rule(at('alias'), 'write')));

const trust = (file: string, { pid = process.pid, ruleNamesPath = false, workdir = root, name = file } = {}) =>
  trustOf({ file, workdir, pid, argv: [name] as readonly string[] } as ExecRequest, writable, ruleNamesPath);

describe('a program is trusted outside the sandbox', () => {
  it('when no command could have changed the files that would be executed', () => {
    const { dev, ino } = statSync(at('safe/tool'), { bigint: true });

    for (const file of [at('safe/tool'), 'safe/tool', './safe/../safe/tool']) {
      expect(trust(file)).toEqual({ trusted: true, real: at('safe/tool'), identity: { device: dev, inode: ino } });
    }
    expect(trust(at('safe/nested'))).toMatchObject({ trusted: true });
  });

  it.each([
    ['work/tool', 'could have been changed'],
    ['alias/tool', 'could have been changed'],
    ['work/../safe/tool', 'could have been changed'],
    ['safe/planted', 'could have been changed'],
    ['safe/round', 'too many interpreters'],
    ['safe/missing', 'not there outside'],
    ['safe', 'not there outside'],
  ])('but not %s', (file, reason) => {
    expect(trust(`${root}/${file}`)).toMatchObject({ trusted: false, reason: expect.stringContaining(reason) });
  });

  it('but not by an interpreter that is looked for where the command runs', () => {
    expect(trust(at('safe/relative'), { workdir: at('work') })).toMatchObject({ trusted: false });
  });

  it('wherever it lies, if a rule names this very path', () => {
    expect(trust(at('work/tool'), { ruleNamesPath: true })).toMatchObject({ trusted: true });
    expect(trust(`${at('safe')}/../work/tool`, { ruleNamesPath: true })).toMatchObject({ trusted: false });
  });

  it('but not when the caller sees another file there, or is gone', () => {
    const reason = 'it is another file inside the sandbox';

    expect(trust(at('safe/tool'), { pid: 2 ** 30 })).toMatchObject({ trusted: false, reason });
    expect(trust(at('work/tool'), { pid: 2 ** 30, ruleNamesPath: true })).toMatchObject({ trusted: false, reason });
  });

  it('but not when it is to take itself for another program', () => {
    expect(trust(at('safe/tool'), { name: 'tool' })).toMatchObject({ trusted: true });
    for (const name of ['sh', '-tool', '', at('work/tool')]) {
      expect(trust(at('safe/tool'), { name, ruleNamesPath: true })).toMatchObject({
        trusted: false,
        reason: 'it is called by the name of another program',
      });
    }
  });

  it('but not by way of the links of a process', () => {
    expect(trust(`/proc/${process.pid}/root${at('safe/tool')}`)).toMatchObject({ trusted: false });
    expect(trust(`/proc/self/root${at('safe/tool')}`)).toMatchObject({ trusted: false });
  });
});

describe('what commands could have changed', () => {
  const memory = new WritablePathMemory();

  it('includes the writable of sandboxes before', () => {
    const first = memory.with(policy(rule('/', 'read'), rule('/a', 'write')));
    const second = memory.with(policy(rule('/', 'read'), rule('/b', 'write'), rule('/b/c', 'read')));

    expect(['/a/x', '/b/x', '/b/c/x', '/c'].map((path) => second.has(path))).toEqual([true, true, false, false]);
    expect(first.has('/b/x')).toBe(true); // they may run at the same time
  });

  it('is everything when there were too many of them', () => {
    const last = memory.with(policy(rule('/', 'read')));
    expect(last.has('/usr/bin')).toBe(false);
    for (let n = 0; n < 300; n++) memory.with(policy(rule('/', 'read'), rule(`/${n}`, 'write')));
    expect(last.has('/usr/bin')).toBe(true);
  });
});
