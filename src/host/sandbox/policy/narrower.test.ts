import { describe, expect, it } from 'vitest';
import { isNarrower } from './narrower.ts';
import type { Access, AccessPolicy } from './resolution.ts';

const policy = (rules: Record<string, Access>, more: Partial<AccessPolicy> = {}): AccessPolicy => ({
  network: 'restricted',
  unrestricted: false,
  rules: Object.entries(rules).map(([path, access]) => ({ path, access, skipMissing: false })),
  deniedGlobs: [],
  globDepth: undefined,
  minimal: false,
  ...more,
});

const everything = policy({}, { network: 'enabled', unrestricted: true });
const readOnly = policy({ '/': 'read' });
const work = policy({ '/': 'read', '/w': 'write', '/w/.git': 'read' });
const hiding = policy({ '/': 'read', '/w/secret': 'deny' });

describe('a policy is narrower than another', () => {
  it.each([
    ['itself', work, work],
    ['everything', work, everything],
    ['one with a writable directory', readOnly, work],
    ['one with a directory above its own', policy({ '/': 'read', '/w/a': 'write' }), work],
    ['one that hides less', hiding, work],
    ['one with network', readOnly, policy({ '/': 'read' }, { network: 'enabled' })],
    ['one without its patterns', policy({ '/': 'read' }, { deniedGlobs: ['/x*'] }), readOnly],
    ['one that shows all', policy({ '/w': 'read' }, { minimal: true }), readOnly],
  ])('than %s', (_what, narrow, wide) => {
    expect(isNarrower(narrow, wide)).toBe(true);
  });

  it.each([
    ['with everything', everything, work],
    ['with a writable directory', work, readOnly],
    ['with another writable directory', policy({ '/': 'read', '/x': 'write' }), work],
    ['that may write what is protected', policy({ '/': 'read', '/w': 'write' }), work],
    ['that shows what was hidden', readOnly, hiding],
    ['with network', policy({ '/': 'read' }, { network: 'enabled' }), work],
    ['without its patterns', readOnly, policy({ '/': 'read' }, { deniedGlobs: ['/x*'] })],
    ['that shows the system', policy({ '/w': 'read' }, { minimal: true }), policy({ '/w': 'read' })],
    ['that shows more', readOnly, policy({ '/w': 'write' })],
  ])('but not one %s', (_what, wide, narrow) => {
    expect(isNarrower(wide, narrow)).toBe(false);
  });
});
