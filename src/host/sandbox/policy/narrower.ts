import { posix } from 'node:path';
import { type AccessPolicy, accessOf, hasFullRead } from './resolution.ts';

/** Whether a policy permits nothing that the other one does not. False in doubt. */
export function isNarrower(policy: AccessPolicy, than: AccessPolicy): boolean {
  if (policy.network === 'enabled' && than.network !== 'enabled') return false;
  if (than.unrestricted) return true;
  if (policy.unrestricted) return false;
  if (than.deniedGlobs.length > 0 && policy.globDepth !== than.globDepth) return false;
  if (than.deniedGlobs.some((glob) => !policy.deniedGlobs.includes(glob))) return false;
  if (policy.minimal && !than.minimal && !hasFullRead(than)) return false;
  // Access changes only at the paths of rules.
  const paths = [...policy.rules, ...than.rules].map(({ path }) => path);
  return paths.every((path) => rankOf(path, policy) <= rankOf(path, than));
}

const RANKS = { deny: 0, read: 1, write: 2 } as const;

/** How much the rules permit at a path. */
function rankOf(path: string, { rules }: AccessPolicy): number {
  return RANKS[accessOf(new Map(rules.map((rule) => [rule.path, rule.access])), posix.normalize(path))];
}
