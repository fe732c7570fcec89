import { describe, expect, it } from 'vitest';
import { isLocalName, normalizeHost } from './host-name.ts';

describe('a host', () => {
  it('loses case, blanks, brackets, port and final dots', () => {
    const spellings = [' Example.COM ', 'example.com.', 'example.com..', 'example.com:8080', 'example.com:'];

    expect(spellings.map(normalizeHost)).toEqual(spellings.map(() => 'example.com'));
    expect(normalizeHost('[0:0::1]:443')).toBe('::1');
    expect(normalizeHost('::FFFF:7f00:1')).toBe('::ffff:7f00:1');
    expect(normalizeHost('bücher.example')).toBe('xn--bcher-kva.example');
  });

  it('is undefined if it is empty, too long or not a valid name', () => {
    const none = ['', ' ', '.', 'a b', 'a\nb', 'a/b', 'a@b', `${'a'.repeat(254)}`, '[::1'];

    expect(none.map(normalizeHost)).toEqual(none.map(() => undefined));
  });

  it('is local if it is a loopback name or an address that is not public', () => {
    expect(['localhost', 'a.localhost', '127.0.0.1', '10.1.2.3', '::1'].every(isLocalName)).toBe(true);
    expect(['example.com', 'localhost.example', '8.8.8.8'].some(isLocalName)).toBe(false);
  });
});
