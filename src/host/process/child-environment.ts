import { nameMatcher } from '../../base/index.ts';
import type { EnvPolicy } from '../../protocol/index.ts';
import { isOwnCredential, isOwnVariable } from '../own/index.ts';

type Environment = Readonly<Record<string, string>>;

const core = new Set([
  'PATH',
  'SHELL',
  'TMPDIR',
  'TEMP',
  'TMP',
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'USER',
]);

const defaultExcludes = ['*KEY*', '*SECRET*', '*TOKEN*'];

/** Variables that are removed even from requests that contain them. */
const neverPassed = new Set([
  'CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN',
  'NODE_REPL_AUTH_TOKEN',
  'OPENAI_FEDERATION_RULE_ID',
  'OPENAI_IDENTITY_TOKEN_FILE',
  'OPENAI_WORKLOAD_IDENTITY_CONTEXT',
  'CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE',
]);

/** The environment of a child: `env` alone, or added to the variables that the policy selects from the server's own. */
export function childEnvironment(
  own: Environment,
  policy: EnvPolicy | null | undefined,
  env: Environment,
): Record<string, string> {
  const merged = policy ? { ...inherited(own, policy), ...env } : env;
  return select(merged, (name, value) => !neverPassed.has(name.toUpperCase()) && !isOwnCredential(value));
}

/** An environment without the credentials and settings of this program, which commands inherit under no policy. */
export function inheritable(own: Environment): Record<string, string> {
  return select(own, (name, value) => !neverPassed.has(name.toUpperCase()) && !isOwnVariable(name, value));
}

/** Whether a policy excludes any variables. */
export function excludesAny(policy: EnvPolicy | null | undefined): boolean {
  if (!policy) return false;
  return !policy.ignoreDefaultExcludes || policy.exclude.length > 0 || policy.includeOnly.length > 0;
}

function inherited(own: Environment, policy: EnvPolicy): Environment {
  const { inherit, ignoreDefaultExcludes, exclude, set, includeOnly } = policy;
  if (inherit === 'none') return filterIncluded(set, includeOnly);
  const excluded = nameMatcher(ignoreDefaultExcludes ? exclude : [...defaultExcludes, ...exclude]);
  const wanted = (name: string) => (inherit === 'all' || core.has(name.toUpperCase())) && !isLoaderVariable(name);
  const taken = select(inheritable(own), (name) => wanted(name) && !excluded(name));
  return filterIncluded({ ...taken, ...set }, includeOnly);
}

/** Whether a variable makes programs load other code: those of the server are not inherited, but a request may send them. */
function isLoaderVariable(name: string): boolean {
  return /^(LD_|DYLD_)/.test(name) || name === 'NODE_OPTIONS';
}

function filterIncluded(environment: Environment, includeOnly: readonly string[]): Environment {
  return includeOnly.length === 0 ? environment : select(environment, nameMatcher(includeOnly));
}

function select(environment: Environment, keep: (name: string, value: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name, value]) => keep(name, value)));
}
