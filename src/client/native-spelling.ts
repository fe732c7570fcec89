import { type EnvironmentInfo, PathUri } from '../protocol/index.ts';

/**
 * Whether a server knows native paths alone, as those before June 2026: it tells its own directory as one, or does not describe its
 * environment yet.
 */
export function acceptsOnlyNativePaths(wireInfo: unknown, info: EnvironmentInfo | undefined): boolean {
  const { cwd } = Object(wireInfo) as { cwd?: unknown };
  return info === undefined || (typeof cwd === 'string' && cwd.startsWith('/'));
}

/** Parameters as they travel, with native paths in place of URIs where they have a spelling. */
export function withNativePaths(params: unknown, wire: unknown): unknown {
  if (params instanceof PathUri) {
    const path = params.toNative();
    return typeof path === 'string' ? path : wire;
  }
  if (Array.isArray(wire)) return wire.map((item, at) => withNativePaths((params as unknown[])[at], item));
  if (typeof wire !== 'object' || wire === null || typeof params !== 'object' || params === null) return wire;
  const members = Object.entries(wire).map(([name, value]) => [
    name,
    withNativePaths((params as Record<string, unknown>)[name], value),
  ]);
  return Object.fromEntries(members) as unknown;
}
