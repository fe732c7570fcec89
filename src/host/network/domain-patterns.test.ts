import { describe, expect, it } from 'vitest';
import { DomainPatterns, matchesEverything } from './domain-patterns.ts';

const hosts = ['d.example', 'a.d.example', 'b.a.d.example', 'xd.example', 'other.example'];
const matched = (pattern: string) => hosts.filter((host) => new DomainPatterns([pattern]).match(host));

describe('a domain pattern', () => {
  it('is a name, what is below one, both, or everything', () => {
    expect(matched('d.example')).toEqual(['d.example']);
    expect(matched('*.d.example')).toEqual(['a.d.example', 'b.a.d.example']);
    expect(matched('**.d.example')).toEqual(['d.example', 'a.d.example', 'b.a.d.example']);
    expect(matched('*')).toEqual(hosts);
  });

  it('is compared as a host is', () => {
    expect(matched('D.Example.')).toEqual(['d.example']);
    expect(matched('d.example:8080')).toEqual(['d.example']);
    expect(new DomainPatterns(['[::1]']).match('::1')).toBe(true);
  });

  it('takes no character but the wildcards for anything else', () => {
    expect(new DomainPatterns(['d.example']).match('dxexample')).toBe(false);
    expect(matched('?d.example')).toEqual(['xd.example']);
  });

  it('lists a host only by its name', () => {
    const patterns = new DomainPatterns(['*', 'localhost']);

    expect([patterns.lists('localhost'), patterns.lists('d.example')]).toEqual([true, false]);
  });

  it('must not be empty or senseless', () => {
    expect(() => new DomainPatterns([' '])).toThrow('domain pattern is empty');
    expect(() => new DomainPatterns(['a b'])).toThrow('invalid domain pattern: a b');
  });

  it('says nothing when it is made of wildcards', () => {
    expect(['*', '**', '*.*', '**.*'].every(matchesEverything)).toBe(true);
    expect(matchesEverything('*.example')).toBe(false);
  });
});
