import { posix } from 'node:path';
import { hasFullRead, type Policy } from './resolution.ts';

/** Whether a policy gives nothing that another one does not. In doubt it does not count as narrower. */
export function isNarrower(policy: Policy, than: Policy): boolean {
  if (policy.network === 'enabled' && than.network !== 'enabled') return false;
  if (than.unrestricted) return true;
  if (policy.unrestricted) return false;
  if (than.deniedGlobs.length > 0 && policy.globDepth !== than.globDepth) return false;
  if (than.deniedGlobs.some((glob) => !policy.deniedGlobs.includes(glob))) return false;
  if (policy.minimal && !than.minimal && !hasFullRead(than)) return false;
  // Access only changes where one of them has a rule.
  const places = [...policy.rules, ...than.rules].map(({ path }) => path);
  return places.every((path) => accessTo(path, policy) <= accessTo(path, than));
}

const RANKS = { deny: 0, read: 1, write: 2 } as const;

/** By the rule of the nearest directory above. */
function accessTo(path: string, { rules }: Policy): number {
  const accesses = new Map(rules.map((rule) => [rule.path, RANKS[rule.access]]));
  for (let at = posix.normalize(path); ; at = posix.dirname(at)) {
    const access = accesses.get(at);
    if (access !== undefined) return access;
    if (at === '/') return RANKS.deny;
  }
}
