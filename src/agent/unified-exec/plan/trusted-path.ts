import type { ExecBackend } from '../backends/exec-backend.ts';
import { couldWrite } from '../changes/change-permission.ts';
import type { EnvironmentSettings } from './permissions.ts';

type Variables = NonNullable<ExecBackend['variables']>;

/** The directories of a PATH of this machine into which commands can put no program. */
export function trustedDirectories({ PATH = '', TMPDIR }: Variables, settings: EnvironmentSettings): string[] {
  return PATH.split(':').filter((directory) => directory.startsWith('/') && !couldWrite(settings, directory, TMPDIR));
}

/** A PATH of these alone. An empty one would be the working directory. */
export function trustedPath(variables: Variables, settings: EnvironmentSettings): string {
  return trustedDirectories(variables, settings).join(':') || '/usr/bin:/bin';
}

/** The command line of a shell with this PATH, also after its login files have set another one. */
export function withPath(argv: readonly string[], path: string): string[] {
  const [shell = '', flag, script] = argv;
  if (flag !== '-lc') return [...argv];
  return [shell, flag, `PATH='${path.replaceAll("'", `'\\''`)}'; ${script}`];
}
