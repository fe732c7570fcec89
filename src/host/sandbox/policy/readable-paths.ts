import { posix } from 'node:path';
import type { Sandbox } from '../../../protocol/index.ts';
import { secretPaths } from '../../own/index.ts';
import { DiskFacts } from '../view/disk-facts.ts';
import { ViewRules } from '../view/rules.ts';
import { accessPolicyOf, type FilePolicyOptions } from './file-access.ts';
import { parseGlob } from './glob.ts';
import { accessOf, hasFullRead } from './resolution.ts';

/**
 * Tells which real paths a sandbox may know of: those that its rules let it read, that no pattern denies, and that are not
 * secrets of the server. Undefined when it may know of all. Unlike a view this goes on holding for what appears later.
 */
export function readablePaths(
  sandbox: Sandbox,
  env: FilePolicyOptions['env'],
): ((path: string) => boolean) | undefined {
  const disk = new DiskFacts();
  const policy = accessPolicyOf(sandbox, env, disk);
  if (policy.unrestricted) return undefined;
  const { access } = new ViewRules({ ...policy, minimal: policy.minimal || !hasFullRead(policy) }, disk, {
    secrets: secretPaths.paths.map((path) => disk.realPath(path) ?? path),
  });
  const denied = policy.deniedGlobs.map((pattern) => parseGlob(pattern, (root) => disk.realPath(root) ?? root));
  const isDenied = (path: string): boolean => denied.some(({ expression }) => expression.test(path));
  return (path) => {
    if (accessOf(access, path) === 'deny') return false;
    if (denied.length === 0) return true;
    for (let at = path; at !== '/'; at = posix.dirname(at)) if (isDenied(at)) return false;
    return true;
  };
}
