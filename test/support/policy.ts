import type { Access, AccessPolicy } from '../../src/host/sandbox/policy/resolution.ts';

/** A policy with these rules, without a network. */
export function policyOf(
  rules: readonly (readonly [path: string, access: Access])[],
  more: Partial<AccessPolicy> = {},
): AccessPolicy {
  return {
    network: 'restricted',
    unrestricted: false,
    rules: rules.map(([path, access]) => ({ path, access, skipMissing: false })),
    deniedGlobs: [],
    globDepth: undefined,
    minimal: false,
    ...more,
  };
}

/** Everything may be read and nothing written. */
export const readOnlyPolicy = policyOf([['/', 'read']]);
