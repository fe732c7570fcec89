import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CgroupFiles, findPlace, type GroupPlace } from './control-groups.ts';

/** A folder that looks like the group `/unit` of a cgroup file system, owned by this user. */
function groupOf(
  contents: Readonly<Record<string, string>>,
  self: Partial<Record<'cgroup' | 'mountinfo', string>> = {},
) {
  const mount = mkdtempSync(join(tmpdir(), 'cgroups-'));
  onTestFinished(() => rmSync(mount, { recursive: true }));
  const folder = join(mount, 'unit');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text);
  const told = { cgroup: '0::/unit\n', mountinfo: `31 30 0:27 / ${mount} rw - cgroup2 cgroup rw\n`, ...self };
  const files: CgroupFiles = { self: (file) => told[file], isDelegated: () => true };
  return { folder, find: (): GroupPlace => findPlace(files), files };
}

const usual = { 'cgroup.controllers': 'cpuset cpu memory pids\n', 'cgroup.subtree_control': '', 'cgroup.procs': '' };

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');

// The kernel's own part is in test/system/process/limits.test.ts, where the machine has controllers to give.
describe('the control groups of a server', () => {
  it('are made below its own group, after it has moved itself and what it has started to a group below', () => {
    const { folder, find } = groupOf({ ...usual, 'cgroup.procs': `${process.pid}\n` });

    const { place } = find();

    expect(read(folder, 'exec-server', 'cgroup.procs')).toBe(String(process.pid));
    expect(read(folder, 'cgroup.subtree_control')).toBe('+memory +cpu +pids');
    expect(place!.can('cpus')).toBe(true);
  });

  it('have the limits of their process', () => {
    const { folder, find } = groupOf(usual);

    place(find()).create({ memoryBytes: 1_000_000, cpus: 1.5, pids: 20 }).joined();

    const group = join(folder, `exec-server-${process.pid}-1`);
    const files = ['memory.max', 'memory.swap.max', 'memory.oom.group', 'cpu.max', 'pids.max'];
    expect(files.map((name) => read(group, name))).toEqual(['1000000', '0', '1', '150000 100000', '20']);
  });

  it('tell what was exceeded', () => {
    const { folder, find } = groupOf(usual);
    const made = place(find()).create({ memoryBytes: 1, pids: 1 });
    const group = join(folder, `exec-server-${process.pid}-1`);
    const told = (): unknown => made.exceeded;

    expect(told()).toBeUndefined();
    writeFileSync(join(group, 'pids.events'), 'max 3\n');
    expect(told()).toBe('pids');
    writeFileSync(join(group, 'memory.events'), 'low 0\nmax 9\noom 1\noom_kill 2\n');
    expect(told()).toBe('memory');
  });

  it('of a server that has moved itself are made beside its group', () => {
    const { folder, find } = groupOf(usual, { cgroup: '0::/unit/exec-server\n' });
    place(find()).create({ pids: 1 }).joined();
    expect(read(folder, `exec-server-${process.pid}-1`, 'pids.max')).toBe('1');
  });

  it('cannot be made where there are other processes, which are not moved', () => {
    const { find } = groupOf({ ...usual, 'cgroup.procs': '1\n' });
    expect(find().reason).toMatch(/^the cgroup .*\/unit has other processes than the server's$/);
  });

  it.each([
    ['without cgroup v2', usual, { cgroup: '4:memory:/a\n' }, /^there is no cgroup v2$/],
    ['without a mounted one', usual, { mountinfo: '' }, /^there is no cgroup v2$/],
    ['without controllers', { ...usual, 'cgroup.controllers': '\n' }, {}, /has no controllers$/],
  ])('cannot be made %s', (_, contents, self, reason) => {
    expect(groupOf(contents, self).find().reason).toMatch(reason);
  });

  it('cannot be made in a group that is not delegated', () => {
    const { files } = groupOf(usual);
    expect(findPlace({ ...files, isDelegated: () => false }).reason).toMatch(/is not delegated to the server$/);
  });
});

function place({ place: found, reason }: GroupPlace) {
  if (!found) throw new Error(reason);
  return found;
}
