import { describe, expect, it } from 'vitest';
import type { Access, Policy } from './policy/resolution.ts';
import { seatbelt, seatbeltArgv } from './seatbelt.ts';

const policy = (rules: Record<string, Access>, more: Partial<Policy> = {}): Policy => ({
  network: 'restricted',
  unrestricted: false,
  rules: Object.entries(rules).map(([path, access]) => ({ path, access, skipMissing: false })),
  deniedGlobs: [],
  globDepth: undefined,
  minimal: false,
  ...more,
});

/** The profile with its parameters filled in. */
function textOf(...args: Parameters<typeof seatbelt>): string {
  const { profile, parameters } = seatbelt(...args);
  return profile.replace(/\(param "(\w+)"\)/g, (_, name: string) => JSON.stringify(parameters[name]));
}

describe('the profile of a sandbox on macOS', () => {
  it('denies by default and balances its parentheses', () => {
    const text = textOf(policy({ '/': 'read', '/w': 'write', '/w/x': 'deny' }, { deniedGlobs: ['/w/**/*.env'] }));
    expect(text).toMatch(/^\(version 1\)\n\(deny default\)/);
    const bare = text.replace(/#"[^"]*"|"[^"]*"/g, '');
    expect(bare.split('(').length).toBe(bare.split(')').length);
  });

  it('lets paths be read and written with the parts taken out that other rules are about', () => {
    const text = textOf(policy({ '/': 'read', '/w': 'write', '/w/ro': 'read', '/w/no': 'deny' }));
    expect(text).toContain('(allow file-read* (require-all (subpath "/w") (require-not (literal "/w/no"))');
    const writing = text.split('\n').find((line) => line.startsWith('(allow file-write* (require-all (subpath "/w")'))!;
    expect(writing).toContain('(require-not (subpath "/w/ro"))');
    expect(writing).toContain('(require-not (subpath "/w/no"))');
    expect(text).toContain('(deny file-write-unlink (literal "/w"))');
  });

  it('keeps protected names out of what may be written, unless a rule names them', () => {
    const text = textOf(policy({ '/': 'read', '/w': 'write', '/w/.git': 'write' }));
    const writing = text.split('\n').find((line) => line.startsWith('(allow file-write* (require-all (subpath "/w")'))!;
    expect(writing).toContain('#"^/w/\\.codex(/|$)"');
    expect(writing).not.toContain('\\.git(');
  });

  it('has a network only if it is enabled, or the proxies of a managed one', () => {
    expect(textOf(policy({ '/': 'read' }))).not.toContain('network');
    expect(textOf(policy({ '/': 'read' }, { network: 'enabled' }))).toContain('(allow network-outbound)');
    const managed = textOf(policy({ '/': 'read' }), { proxyPorts: [3128], allowLocalBinding: false });
    expect(managed).toContain('(allow network-outbound (remote ip "localhost:3128"))');
    expect(managed).not.toContain('network-inbound');
  });

  it('refuses to build an expression from a path with a quotation mark', () => {
    expect(() => seatbelt(policy({ '/': 'read', '/w"': 'write' }))).toThrow('quotation mark');
    expect(() => seatbelt(policy({ '/': 'read' }, { deniedGlobs: ['/w/"*'] }))).toThrow('quotation mark');
  });

  it('names paths as parameters, never as text of the profile', () => {
    const made = seatbelt(policy({ '/odd")(allow default': 'read' }));
    expect(made.profile).not.toContain('odd');
    expect(Object.values(made.parameters)).toEqual(['/odd")(allow default']);
    expect(seatbeltArgv(made, ['true'])).toEqual([
      '/usr/bin/sandbox-exec',
      '-p',
      made.profile,
      '-DPATH_0=/odd")(allow default',
      '--',
      'true',
    ]);
  });
});
