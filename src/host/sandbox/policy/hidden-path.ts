import { existsSync } from 'node:fs';
import { posix } from 'node:path';
import { MINIMAL } from '../view/rules.ts';
import { type AccessPolicy, accessOf } from './resolution.ts';

/** Whether a path could be written on the host, but is missing in the view because the policy does not list it. */
export function isHidden({ rules, minimal }: AccessPolicy, path: string): boolean {
  if (minimal && MINIMAL.some((shown) => path === shown || path.startsWith(`${shown}/`))) return false;
  const access = accessOf(new Map(rules.map((rule) => [rule.path, rule.access])), path);
  return access === 'deny' && existsSync(posix.dirname(path));
}
