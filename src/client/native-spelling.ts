import { type EnvironmentInfo, PathUri } from '../protocol/index.ts';

/**
 * Whether a server accepts only native paths, as servers before June 2026 do: these give their own directory as a native path, or do
 * not describe their environment.
 */
export function acceptsOnlyNativePaths(wireInfo: unknown, info: EnvironmentInfo | undefined): boolean {
  const { cwd } = Object(wireInfo) as { cwd?: unknown };
  return info === undefined || (typeof cwd === 'string' && cwd.startsWith('/'));
}

/** The wire form of parameters, with native paths in place of URIs; a path that is not text stays a URI. */
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
