import { couldWrite } from '../changes/change-permission.ts';
import type { EnvironmentSettings } from './permissions.ts';

/** The directories of a PATH of this machine into which commands can put no program. */
export function trustedDirectories(path: string, settings: EnvironmentSettings): string[] {
  return path.split(':').filter((directory) => directory.startsWith('/') && !couldWrite(settings, directory));
}

/** A PATH of these alone. An empty one would be the working directory. */
export function trustedPath(path: string, settings: EnvironmentSettings): string {
  return trustedDirectories(path, settings).join(':') || '/usr/bin:/bin';
}

/** The command line of a shell with this PATH, also after its login files have set another one. */
export function withPath(argv: readonly string[], path: string): string[] {
  const [shell = '', flag, script] = argv;
  if (flag !== '-lc') return [...argv];
  return [shell, flag, `PATH='${path.replaceAll("'", `'\\''`)}'; ${script}`];
}
