import type { RandomSource } from '../random-source.ts';
import type { Params } from '../step.ts';

const special = (kind: string, more: Params = {}): Params => ({ type: 'special', value: { kind, ...more } });
const at = (path: string): Params => ({ type: 'path', path });

const readAll: Params = { path: special('root'), access: 'read' };
const writeRoots: Params = { path: special('project_roots'), access: 'write' };

/** Entries beside the one that makes everything readable. */
const furtherEntries = (base: string): readonly (readonly Params[])[] => [
  [],
  [],
  [writeRoots],
  [writeRoots],
  [writeRoots, ...['.git', '.agents', '.codex', '.aws'].map((subpath) => protectedBelow(subpath))],
  [writeRoots, { path: special('slash_tmp'), access: 'write' }, { path: special('tmpdir'), access: 'write' }],
  [{ path: special('current_working_directory'), access: 'write' }],
  [{ path: special('project_roots', { subpath: 'folder' }), access: 'write' }],
  [{ path: at(`${base}/folder`), access: 'write' }],
  [writeRoots, { path: at(`${base}/file`), access: 'deny' }],
  [writeRoots, { path: at(`${base}/file`), access: 'none' }],
  [writeRoots, { path: at(`${base}/folder`), access: 'read' }],
  [writeRoots, { path: at(`${base}/folder`), access: 'deny' }],
  [{ path: special('unknown', { path: ':later' }), access: 'write' }],
];

const protectedBelow = (subpath: string): Params => ({
  path: special('project_roots', { subpath }),
  access: 'read',
  missing_path_behavior: 'skip',
});

const permissions = (random: RandomSource, base: string): unknown =>
  random.usually<() => unknown>(
    [
      () => restricted(random, [readAll, ...random.pick(furtherEntries(base))]),
      () => restricted(random, [readAll, ...random.pick(furtherEntries(base))]),
      () => restricted(random, [readAll, ...random.pick(furtherEntries(base))]),
      () => restricted(random, [{ path: special('minimal'), access: 'read' }, writeRoots]),
      () => ({ type: 'managed', file_system: { type: 'unrestricted' }, network: network(random) }),
      () => ({ type: 'disabled' }),
      () => ({ type: 'external', network: network(random) }),
    ],
    [
      () => restricted(random, []),
      () => restricted(random, [{ path: special('nowhere'), access: 'read' }]),
      () => restricted(random, [readAll, { path: at('file:///C:/x'), access: 'write' }]),
      () => restricted(random, [readAll, { path: at('relative'), access: 'write' }]),
      () => ({ type: 'managed', file_system: { type: 'restricted', entries: [] } }),
      () => ({ type: 'other' }),
      () => ({}),
    ],
    8,
  )();

const network = (random: RandomSource): string => random.pick(['restricted', 'restricted', 'enabled']);

const restricted = (random: RandomSource, entries: readonly Params[]): Params => ({
  type: 'managed',
  file_system: { type: 'restricted', entries },
  network: network(random),
});

/** A sandbox of today, or now and then one of an older client. */
export function sandbox(random: RandomSource, base: string): unknown {
  return random.oneIn(12) ? random.pick(older(base)) : sandboxOfToday(random, base);
}

export function sandboxOfToday(random: RandomSource, base: string): unknown {
  return {
    permissions: permissions(random, base),
    windowsSandboxLevel: random.usually(['disabled'], ['elevated', 'other', undefined]),
    cwd: random.usually([base, base, `${base}/folder`, undefined], ['file:///C:/x', null], 12),
    workspaceRoots: random.usually([[base], [base], [`${base}/folder`], undefined], [[], null, ['x']], 12),
    useLegacyLandlock: random.usually<unknown>([false, undefined], [null, 'no']),
    sandboxOverride: random.usually([undefined, 'noOverride'], ['other', null]),
  };
}

/** What clients sent in spring 2026. */
const older = (base: string): readonly unknown[] => {
  const native = decodeURIComponent(base.slice('file://'.length));
  return [
    { sandboxPolicy: { type: 'read-only' } },
    { sandboxPolicy: { type: 'readOnly' } },
    { sandboxPolicy: { type: 'workspace-write', writable_roots: [native] }, windowsSandboxLevel: 'disabled' },
    { sandboxPolicy: { type: 'workspaceWrite', writableRoots: [native] }, cwd: native },
    { sandboxPolicy: { type: 'danger-full-access' } },
    { sandboxPolicy: { type: 'external-sandbox' } },
    { sandboxPolicy: { type: 'something-else' } },
    { type: 'read-only' },
  ];
};
