import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { userRulesFolder } from './rules-folder.ts';
import { RulesStore } from './rules-store.ts';

let home: string;
let system: string;
let user: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'rules-'));
  [system, user] = [join(home, 'system'), join(home, 'user')];
  await mkdir(system);
  await mkdir(user);
});
afterEach(() => rm(home, { recursive: true }));

const rule = (word: string, decision = 'allow') => `prefix_rule(pattern=["${word}"], decision="${decision}")\n`;
const programs = async (store: RulesStore) => (await store.current()).prefixRules.map(({ first }) => first);

describe('the rules of some folders', () => {
  it('come from regular files named *.rules, folder by folder, sorted by name', async () => {
    await writeFile(join(user, 'b.rules'), rule('third'));
    await writeFile(join(user, 'a.rules'), rule('second'));
    await writeFile(join(system, 'z.rules'), rule('first'));
    await writeFile(join(user, 'notes.txt'), 'not rules');
    await writeFile(join(user, '.rules'), 'not rules');
    await mkdir(join(user, 'folder.rules'));
    await writeFile(join(home, 'elsewhere'), rule('linked'));
    await symlink(join(home, 'elsewhere'), join(user, 'link.rules'));
    await writeFile(join(home, 'single'), rule('fourth'));

    const store = await RulesStore.open({
      folders: [system, join(home, 'missing'), user],
      files: [join(home, 'single')],
    });

    expect(await programs(store)).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('are read again when a file changes, comes or goes', async () => {
    const file = join(user, 'a.rules');
    const store = await RulesStore.open({ folders: [user] });
    const seen = [await programs(store)];
    await writeFile(file, rule('one'));
    seen.push(await programs(store));
    await writeFile(file, rule('two'));
    seen.push(await programs(store));
    await rm(file);
    seen.push(await programs(store));

    expect(seen).toEqual([[], ['one'], ['two'], []]);
  });

  it('stay the same object while nothing changes', async () => {
    await writeFile(join(user, 'a.rules'), rule('one'));
    const store = await RulesStore.open({ folders: [user] });

    expect(await store.current()).toBe(await store.current());
  });

  it('stay in force when a change makes them wrong, which is reported once', async () => {
    const problems: Error[] = [];
    await writeFile(join(user, 'a.rules'), rule('rm', 'forbidden'));
    const store = await RulesStore.open({ folders: [user], onProblem: (error) => problems.push(error) });
    await writeFile(join(user, 'a.rules'), 'prefix_rule(');
    const wrong = [await programs(store), await programs(store)];
    await writeFile(join(user, 'a.rules'), rule('mv'));

    expect(wrong).toEqual([['rm'], ['rm']]);
    expect(problems).toHaveLength(1);
    expect(await programs(store)).toEqual(['mv']);
  });

  it('stay in force when a file that was named is gone, which is reported once', async () => {
    const problems: Error[] = [];
    const file = join(home, 'mine.rules');
    await writeFile(file, rule('rm', 'forbidden'));
    const store = await RulesStore.open({ files: [file], onProblem: (error) => problems.push(error) });
    await rm(file);

    expect([await programs(store), await programs(store)]).toEqual([['rm'], ['rm']]);
    expect(problems).toHaveLength(1);
  });

  it('are read again when one could not be read, and allow nothing until then', async () => {
    const problems: Error[] = [];
    const [file, target, folder] = [join(home, 'mine.rules'), join(home, 'target'), join(user, 'a.rules')];
    const decisions = async (store: RulesStore) =>
      Promise.all(['one', 'two', 'three'].map(async (word) => (await store.current()).check([word]).decision));
    await writeFile(join(home, 'first'), rule('one') + rule('two', 'forbidden'));
    await writeFile(folder, rule('three'));
    await symlink(join(home, 'first'), file);
    const options = { folders: [user], files: [file], onProblem: (error: Error) => problems.push(error) };
    const store = await RulesStore.open(options);
    const seen = [await decisions(store)];
    await rm(file);
    await symlink(target, file);
    seen.push(await decisions(store));
    await writeFile(folder, rule('three', 'forbidden'));
    seen.push(await decisions(store));
    await writeFile(target, rule('one', 'forbidden'));
    seen.push(await decisions(store));
    await writeFile(target, rule('two'));
    seen.push(await decisions(store));

    expect(seen).toEqual([
      ['allow', 'forbidden', 'allow'],
      ['prompt', 'forbidden', 'prompt'],
      ['prompt', 'forbidden', 'forbidden'],
      ['forbidden', undefined, 'forbidden'],
      [undefined, 'allow', 'forbidden'],
    ]);
    expect(problems).toHaveLength(1);
  });

  it('must be right to begin with', async () => {
    await writeFile(join(user, 'a.rules'), 'prefix_rule(');

    await expect(RulesStore.open({ folders: [user] })).rejects.toThrow('a.rules');
    await expect(RulesStore.open({ files: [join(home, 'missing.rules')] })).rejects.toThrow('ENOENT');
    const pipe = join(home, 'pipe.rules');
    execFileSync('mkfifo', [pipe]);
    await expect(RulesStore.open({ files: [pipe] })).rejects.toThrow(
      `cannot read the rules file ${pipe}: it is not a regular file`,
    );
  });

  it('grow by answers, which count at once and for others who read the folder', async () => {
    const addTo = join(user, 'default.rules');
    const store = await RulesStore.open({ folders: [user], addTo });
    const other = await RulesStore.open({ folders: [user] });
    await store.add({ kind: 'prefix', pattern: ['git', 'push'] });

    expect((await store.current()).check(['git', 'push', 'origin']).decision).toBe('allow');
    expect((await other.current()).check(['git', 'push', 'origin']).decision).toBe('allow');
    expect(await readFile(addTo, 'utf8')).toBe('prefix_rule(pattern=["git", "push"], decision="allow")\n');
  });

  it('grow by answers also while another file is wrong', async () => {
    const store = await RulesStore.open({ folders: [user], addTo: join(user, 'default.rules') });
    await writeFile(join(user, 'a.rules'), 'prefix_rule(');
    await store.add({ kind: 'prefix', pattern: ['ls'] });

    expect(await programs(store)).toEqual(['ls']);
  });

  it('keep answers without a file to write to as long as they last, changes or not', async () => {
    const store = await RulesStore.open({ folders: [user] });
    await store.add({ kind: 'prefix', pattern: ['ls'] });
    await writeFile(join(user, 'a.rules'), rule('one'));

    expect(await programs(store)).toEqual(['one', 'ls']);
  });

  it('are the user’s own in the home of this program, or of Codex', () => {
    expect(userRulesFolder({ EXEC_SERVER_HOME: '/a', CODEX_HOME: '/b', HOME: '/c' })).toBe('/a/rules');
    expect(userRulesFolder({ CODEX_HOME: '/b', HOME: '/c' })).toBe('/b/rules');
    expect(userRulesFolder({ HOME: '/c' })).toBe('/c/.codex/rules');
  });
});
