import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

// A setuid copy, in a scratch directory: the real one is not touched.
it.runIf(process.getuid!() === 0)('a setuid bubblewrap starts the same first process (needs root to make one)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'exec-server-setuid-'));
  const [copy, stage] = [join(folder, 'bwrap'), join(folder, 'stage')];
  copyFileSync('/usr/bin/bwrap', copy);
  copyFileSync(join(import.meta.dirname, '..', '..', '..', 'build', 'native', 'sandbox-stage'), stage);
  chmodSync(folder, 0o755);
  chmodSync(copy, 0o4755);
  chmodSync(stage, 0o755);
  const view = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--ro-bind', stage, '/dev/.exec-server'];
  const first = ['--unshare-user', '--unshare-pid', '--unshare-net', '--as-pid-1', '--die-with-parent'];
  const options = { uid: 1000, gid: 1000, encoding: 'utf8', env: { PATH: '/usr/bin:/bin' }, timeout: 20_000 } as const;
  const run = (...argv: string[]) => spawnSync(copy, [...first, ...view, '--', ...argv], options);
  const started = run('/dev/.exec-server');
  const user = run('/bin/sh', '-c', 'echo $$ $(id -u)');
  rmSync(folder, { recursive: true });
  expect([started.status, started.stderr]).toEqual([2, expect.stringContaining('usage: sandbox-stage init')]);
  expect(user.stdout).toBe('1 1000\n'); // its privileges are dropped by then
});
