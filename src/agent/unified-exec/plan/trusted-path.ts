import type { ExecBackend } from '../backends/exec-backend.ts';
import { couldWrite } from '../changes/change-permission.ts';
import type { EnvironmentSettings } from './permissions.ts';

type Variables = NonNullable<ExecBackend['variables']>;

/** The directories of a PATH of this machine that commands cannot write. */
export function trustedDirectories({ PATH = '', TMPDIR }: Variables, settings: EnvironmentSettings): string[] {
  return PATH.split(':').filter((directory) => directory.startsWith('/') && !couldWrite(settings, directory, TMPDIR));
}

/** A PATH of these directories. An empty one would mean the working directory. */
export function trustedPath(variables: Variables, settings: EnvironmentSettings): string {
  return trustedDirectories(variables, settings).join(':') || '/usr/bin:/bin';
}

/** The command line of a shell with this PATH, which a login shell sets again after its start-up files. */
export function withPath(argv: readonly string[], path: string): string[] {
  const [shell = '', flag, script] = argv;
  if (flag !== '-lc') return [...argv];
  return [shell, flag, `PATH='${path.replaceAll("'", `'\\''`)}'; ${script}`];
}
