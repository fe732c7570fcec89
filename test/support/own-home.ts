import { rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeOutOfBounds } from './out-of-bounds.ts';

/**
 * Gives this process, and every program it starts from now on, an empty home directory, so that login profiles and settings
 * of the machine change nothing; the function that it returns removes the directory. npm keeps the user's settings
 * and its cache.
 */
export function useOwnHome(): () => void {
  const real = homedir();
  process.env.npm_config_userconfig ??= join(real, '.npmrc');
  process.env.npm_config_cache ??= join(real, '.npm');
  const home = makeOutOfBounds('home');
  process.env.HOME = home;
  return () => rmSync(home, { recursive: true, force: true });
}

/** What vitest calls before the first test of a project and after the last one. */
export const setup = useOwnHome;
