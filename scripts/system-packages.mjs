import { spawnSync } from 'node:child_process';

/**
 * Sees to it that packages of the distribution are there: installs them where this user may, and otherwise says how.
 * Returns whether they are.
 */
export function ensureInstalled({ purpose, packages, isThere }) {
  if (isThere()) return true;
  const install = `apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')}`;
  if (process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    console.error(`Installing ${packages.join(' and ')} for ${purpose}.`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('sh', ['-c', install], { stdio: ['ignore', 2, 2], env });
    if (isThere()) return true;
  }
  console.error(`Missing for ${purpose}: ${packages.join(' and ')}. Run as root: ${install}`);
  return false;
}
