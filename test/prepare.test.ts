import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let checkout: string;
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'exec-server-prepare-'));
  mkdirSync(join(checkout, 'scripts'));
  copyFileSync(
    fileURLToPath(new URL('../scripts/prepare.mjs', import.meta.url)),
    join(checkout, 'scripts/prepare.mjs'),
  );
  writeFileSync(
    join(checkout, 'scripts/build.mjs'),
    `import { mkdirSync, writeFileSync } from 'node:fs';
    mkdirSync('dist/bin', { recursive: true });
    for (const file of ['dist/bin/exec-server.cjs', 'log']) writeFileSync(file, 'built');`,
  );
});
afterEach(() => rmSync(checkout, { recursive: true }));

const buildsFor = (npmCommand: string): boolean => {
  rmSync(join(checkout, 'log'), { force: true });
  execFileSync(process.execPath, ['scripts/prepare.mjs'], {
    cwd: checkout,
    env: { ...process.env, npm_command: npmCommand },
  });
  return existsSync(join(checkout, 'log'));
};

describe('preparing the package', () => {
  it('builds when npm installs or links it, and for npx only what is not there yet', () => {
    expect(buildsFor('exec')).toBe(true);
    expect(buildsFor('exec')).toBe(false);
    expect(['ci', 'install', 'link', 'pack'].map(buildsFor)).toEqual([true, true, true, true]);
  });
});
