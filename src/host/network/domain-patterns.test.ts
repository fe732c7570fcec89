import { describe, expect, it } from 'vitest';
import { DomainPatterns, matchesEverything } from './domain-patterns.ts';

const hosts = ['d.example', 'a.d.example', 'b.a.d.example', 'xd.example', 'other.example'];
const matched = (pattern: string) => hosts.filter((host) => new DomainPatterns([pattern]).match(host));

describe('a domain pattern', () => {
  it('matches a name, its subdomains, both, or everything', () => {
    expect(matched('d.example')).toEqual(['d.example']);
    expect(matched('*.d.example')).toEqual(['a.d.example', 'b.a.d.example']);
    expect(matched('**.d.example')).toEqual(['d.example', 'a.d.example', 'b.a.d.example']);
    expect(matched('*')).toEqual(hosts);
  });

  it('is normalized like a host', () => {
    expect(matched('D.Example.')).toEqual(['d.example']);
    expect(matched('d.example:8080')).toEqual(['d.example']);
    expect(new DomainPatterns(['[::1]']).match('::1')).toBe(true);
  });

  it('has no special characters except the wildcards', () => {
    expect(new DomainPatterns(['d.example']).match('dxexample')).toBe(false);
    expect(matched('?d.example')).toEqual(['xd.example']);
  });

  it('lists a host only if it is named without a wildcard', () => {
    const patterns = new DomainPatterns(['*', 'localhost']);

    expect([patterns.lists('localhost'), patterns.lists('d.example')]).toEqual([true, false]);
  });

  it('is refused if it is empty or not a host', () => {
    expect(() => new DomainPatterns([' '])).toThrow('domain pattern is empty');
    expect(() => new DomainPatterns(['a b'])).toThrow('invalid domain pattern: a b');
  });

  it('matches everything if it consists of wildcards', () => {
    expect(['*', '**', '*.*', '**.*'].every(matchesEverything)).toBe(true);
    expect(matchesEverything('*.example')).toBe(false);
  });
});
