import { nameMatcher } from '../base/index.ts';
import type { EnvironmentInfo, EnvPolicy } from '../protocol/index.ts';

/**
 * The variables that a command inherits under a policy, computed by the client, which knows only some of the server's variables: those
 * that a shell needs.
 */
export function inheritedEnvironment(
  info: EnvironmentInfo,
  policy: EnvPolicy | null | undefined,
): Record<string, string> {
  if (!policy) return {};
  const { inherit, exclude, set, includeOnly } = policy;
  const isExcluded = nameMatcher(exclude); // the defaults name none of these
  const inherited =
    inherit === 'none' ? [] : Object.entries(knownVariables(info)).filter(([name]) => !isExcluded(name));
  const variables = [...inherited, ...Object.entries(set)];
  const isIncluded = includeOnly.length === 0 ? () => true : nameMatcher(includeOnly);
  return Object.fromEntries(variables.filter(([name]) => isIncluded(name)));
}

function knownVariables({ shell, userHomeDir, prependPathDirs, temporaryDirectories }: EnvironmentInfo) {
  const folders = (prependPathDirs ?? []).map((folder) => String(folder.toNative()));
  return {
    PATH: [...folders, USUAL_PATH].join(':'),
    SHELL: shell.path,
    ...(userHomeDir && { HOME: String(userHomeDir.toNative()) }),
    ...(temporaryDirectories?.[0] && { TMPDIR: String(temporaryDirectories[0].toNative()) }),
  };
}

/** The usual PATH of Linux: a server does not tell its own. */
const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
