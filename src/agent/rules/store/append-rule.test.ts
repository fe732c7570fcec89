import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { appendRule } from './append-rule.ts';
import { loadPolicy } from './load-policy.ts';

let home: string;
let file: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'rules-'));
  file = join(home, 'rules', 'default.rules');
});
afterEach(() => rm(home, { recursive: true }));

const prefix = (...pattern: string[]) => ({ kind: 'prefix', pattern }) as const;
const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe('adding a rule to a file', () => {
  it('makes the folder and the file unreadable for other users, and leaves nothing beside it', async () => {
    await appendRule(file, prefix('git', 'status'));

    expect(await readFile(file, 'utf8')).toBe('prefix_rule(pattern=["git", "status"], decision="allow")\n');
    expect([await mode(file), await mode(join(home, 'rules'))]).toEqual(['600', '700']);
    expect(await readdir(join(home, 'rules'))).toEqual(['default.rules']);
  });

  it('makes no more than the last folder', async () => {
    await expect(appendRule(join(home, 'a', 'b', 'default.rules'), prefix('ls'))).rejects.toThrow('ENOENT');
  });

  it('ends an unfinished line first, and does not repeat a line that is there', async () => {
    await appendRule(file, prefix('ls'));
    await writeFile(file, '# mine');
    await appendRule(file, prefix('ls'));
    await appendRule(file, prefix('ls'));

    expect(await readFile(file, 'utf8')).toBe('# mine\nprefix_rule(pattern=["ls"], decision="allow")\n');
  });

  it('keeps every rule of many writers at once, each once', async () => {
    const rules = Array.from({ length: 20 }, (_, at) => prefix('tool', `${at % 10}`));
    await Promise.all(rules.map((rule) => appendRule(file, rule)));

    const { prefixRules } = loadPolicy([{ name: file, text: await readFile(file, 'utf8') }]);
    expect(prefixRules.map(({ rest }) => rest[0]![0]).sort()).toEqual([...'0123456789']);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  it('takes over the lock of a process that died', async () => {
    await appendRule(file, prefix('ls'));
    const { pid } = spawnSync('true');
    await writeFile(`${file}.lock`, String(pid));

    await appendRule(file, prefix('cat'));

    expect(await readFile(file, 'utf8')).toContain('"cat"');
  });

  it('waits for a lock that is held', async () => {
    await appendRule(file, prefix('ls'));
    await writeFile(`${file}.lock`, String(process.pid));
    const appended = appendRule(file, prefix('cat'));
    const first = await Promise.race([appended, new Promise((resolve) => setImmediate(resolve, 'still waiting'))]);
    await rm(`${file}.lock`);
    await appended;

    expect(first).toBe('still waiting');
    expect(await readFile(file, 'utf8')).toContain('"cat"');
  });

  it('refuses a link, a full file and an endless rule, and changes nothing then', async () => {
    await appendRule(file, prefix('ls'));
    const linked = join(home, 'rules', 'linked.rules');
    await symlink(file, linked);
    await expect(appendRule(linked, prefix('cat'))).rejects.toThrow('symbolic link');
    await expect(appendRule(file, prefix('x'.repeat(70_000)))).rejects.toThrow('65536 bytes');
    const before = `#${'x'.repeat(1024 * 1024 - 20)}`;
    await writeFile(file, before);
    await expect(appendRule(file, prefix('cat'))).rejects.toThrow('is full');

    expect(await readFile(file, 'utf8')).toBe(before);
  });
});
