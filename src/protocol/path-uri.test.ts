import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PathUri } from './path-uri.ts';

const bytesOf = (path: string | Uint8Array): string => Buffer.from(path as string).toString('latin1');

/** The error as it goes over the wire. */
function refusalOf(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return (error as { toWire(): unknown }).toWire();
  }
}

describe('a path URI', () => {
  it('is shown whole where objects are printed', () => {
    const denials = [{ kind: 'write', path: PathUri.fromNative('/etc/hosts') }];

    expect(inspect({ denials })).toBe("{ denials: [ { kind: 'write', path: PathUri(file:///etc/hosts) } ] }");
  });

  it.each(['etc/hostname', 'folder', './folder', '', Uint8Array.of(0x78, 0xff)])(
    'is not made of the relative path %j',
    (path) => {
      expect(() => PathUri.fromNative(path)).toThrow(/^expected an absolute path, such as \/srv\/notes\.txt, not '/);
    },
  );

  it.each([
    ['file:///p', '/p'],
    ['file:/p', '/p'],
    ['file:p', '/p'],
    ['FILE:///p', '/p'],
    ['file://localhost/p', '/p'],
    ['file://LOCALHOST/p', '/p'],
    ['file://', '/'],
    ['file:///', '/'],
    ['file:///a%20b', '/a b'],
    ['file:///a b', '/a b'],
    ['file:///%C3%BC', '/\u00fc'],
    ['file:///\u00fc', '/\u00fc'],
    ['file:///p%25q', '/p%q'],
    ['file:///q%3F%23f', '/q?#f'],
    ['file:///d//f', '/d//f'],
    ['file:///f/', '/f/'],
    ['file:///./x/../a', '/a'],
    ['file:///x/%2e%2E/a', '/a'],
    ['file:///.x/../a', '/a'],
    ['file:///.x/a/.', '/.x/a/'],
    ['file:///c|/..', '/c|/'],
    ['file:///../a', '/a'],
    ['file:///100%', '/100%'],
    ['file:///a\\b', '/a/b'],
    ['file:///CC:/x', '/CC:/x'],
    ['file:///d%2ff', '/d/f'],
    ['file:///d%2f..%2Ff', '/f'],
    ['file:///d%2f%2e%2e%2Ff', '/f'],
    ['file:///d%2f.%2ff%2f.', '/d/f/'],
    ['file:///d%2f..', '/'],
    ['file:///..%2f..%2ff', '/f'],
    ['file:///c|%2f..', '/'],
    ['file:///d%2f..f', '/d/..f'],
    ['file:///d%2f..%2f%C3%BC', '/\u00fc'],
  ])('%s names %s', (uri, path) => {
    expect(PathUri.parse(uri).toNative()).toBe(path);
  });

  it('with bytes that are not UTF-8 names those bytes, and encodes them in upper case', () => {
    expect([...(PathUri.parse('file:///raw%ff').toNative() as Uint8Array)]).toEqual([0x2f, 0x72, 0x61, 0x77, 0xff]);
    expect(PathUri.fromNative(Uint8Array.of(0x2f, 0x72, 0x61, 0x77, 0xff)).href).toBe('file:///raw%FF');
  });

  it.each([
    ['', 'invalid URI: relative URL without a base'],
    ['relative/dir', 'invalid URI: relative URL without a base'],
    ['./x', 'invalid URI: relative URL without a base'],
    ['http://example.com/x', 'unsupported path URI scheme `http`'],
    ['https://x/y', 'unsupported path URI scheme `https`'],
    ['file:///a?q=1', 'query parameters are not allowed in path URIs'],
    ['file:///a?', 'query parameters are not allowed in path URIs'],
    ['file:///q?#f', 'query parameters are not allowed in path URIs'],
    ['file:///a#f', 'fragments are not allowed in path URIs'],
    ['file:///a#', 'fragments are not allowed in path URIs'],
    ['file:///a#b?c', 'fragments are not allowed in path URIs'],
    ['file://user@h/x', 'invalid URI: invalid international domain name'],
    ['file://h:80/x', 'invalid URI: invalid international domain name'],
    ['file:///a%00b', "'file:///a%00b' is invalid on 'linux'"],
  ])('spelled %j is no parameter', (uri, message) => {
    expect(refusalOf(() => PathUri.parse(uri))).toEqual({ code: -32602, message });
  });

  it.each([
    ['file:///C:/x', 'file:///C:/x'],
    ['file:///c:/x', 'file:///C:/x'],
    ['file:/c|/x', 'file:///C:/x'],
    ['file:c|/x', 'file:///C:/x'],
    ['file:///C:', 'file:///C:'],
    ['file://server/share/x', 'file://server/share/x'],
  ])('of another platform, %s, can be passed on but not used', (uri, href) => {
    const foreign = PathUri.parse(uri);

    expect(foreign.href).toBe(href);
    expect(refusalOf(() => foreign.toNative())).toEqual({ code: -32600, message: `'${href}' is invalid on 'linux'` });
  });

  it('is parsed as by the rules of URLs, also by the fast test for plain URIs', () => {
    const text = fc
      .array(fc.constantFrom(...'///..ab1_~+=@,-'), { maxLength: 12 })
      .map((letters) => `file:///${letters.join('')}`);
    fc.assert(
      fc.property(text, (uri) => {
        // With encoded dot segments: the parser of Node 20 misses some plain ones.
        const spelled = uri.replaceAll(/(?<=\/)\.{1,2}(?=\/|$)/g, (dots) => dots.replaceAll('.', '%2e'));
        const { href, pathname } = new URL(spelled);
        const parsed = PathUri.parse(uri);
        expect([parsed.href, parsed.toNative()]).toEqual([href, pathname]);
      }),
      { numRuns: 2000 },
    );
  });

  it('may be a native absolute path, as older clients send it', () => {
    const paths = ['/', '/x/y', '/a b', '/q?#f', '/p%20q', '//x'];

    expect(paths.map((path) => PathUri.parse(path).toNative())).toEqual(paths);
  });
});

describe('the URI of a native path', () => {
  it.each([
    ['/a b', 'file:///a%20b'],
    ['/p%q', 'file:///p%25q'],
    ['/q?#f', 'file:///q%3F%23f'],
    ['/\u00fc.txt', 'file:///%C3%BC.txt'],
    ["/plain-_.!~*'()+,;=:@&$", "file:///plain-_.!~*'()+,;=:@&$"],
    ['/back\\slash', 'file:///back%5Cslash'],
    ['/line\nend', 'file:///line%0Aend'],
    ['/ends in a blank ', 'file:///ends%20in%20a%20blank%20'],
    ['/a|b^c{d}`e<f>"g[h]~', 'file:///a|b^c%7Bd%7D%60e%3Cf%3E%22g[h]~'],
    ['/C|/x', 'file:///C%7C/x'],
  ])('%j is %s', (path, href) => {
    expect(PathUri.fromNative(path).href).toBe(href);
  });

  it('is opaque where the ordinary one would name a path of another platform', () => {
    const spelled = ['/C:/x', '/c:', Uint8Array.from(Buffer.from('/C:/\xff', 'latin1'))].map((path) =>
      PathUri.fromNative(path),
    );

    expect(spelled.map(({ href }) => href)).toEqual([
      'file:///%00/bad/path/L0M6L3g',
      'file:///%00/bad/path/L2M6',
      'file:///%00/bad/path/L0M6L_8',
    ]);
    expect(spelled.map((uri) => bytesOf(PathUri.parse(uri.href).toNative()))).toEqual(['/C:/x', '/c:', '/C:/\xff']);
  });

  it.each([
    ['that has an ordinary one', 'file:///%00/bad/path/L3BsYWluL3BhdGg'],
    ['with padding', 'file:///%00/bad/path/L2M6Lw=='],
    ['that is not base64', 'file:///%00/bad/path/*'],
    ['that is empty', 'file:///%00/bad/path/'],
  ])('is not opaque for a path %s', (_, uri) => {
    expect(refusalOf(() => PathUri.parse(uri).toNative())).toEqual({
      code: -32600,
      message: `'${uri}' is invalid on 'linux'`,
    });
  });

  it('is opaque for a path with NUL, which no file can have', () => {
    const uri = PathUri.fromNative('/a\0b');

    expect(uri.href).toBe('file:///%00/bad/path/L2EAYg');
    expect(refusalOf(() => uri.toNative())).toEqual({
      code: -32600,
      message: 'file name contained an unexpected NUL byte',
    });
  });

  it('names that path again, whatever its bytes', () => {
    const byte = fc.oneof(
      fc.integer({ min: 1, max: 255 }).filter((code) => code !== 0x2f),
      fc.constantFrom(...Buffer.from('Cc:|%. \\?#\t\n\r~')),
    );
    const segment = fc
      .uint8Array({ minLength: 1, maxLength: 4 })
      .chain(() => fc.array(byte, { minLength: 1, maxLength: 4 }));
    const dots = (name: number[]) => name.every((code) => code === 0x2e) && name.length <= 2;
    const segments = fc.array(
      segment.filter((name) => !dots(name)),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(segments, fc.boolean(), (names, slash) => {
        const path = Buffer.from(`/${names.map((name) => Buffer.from(name).toString('latin1')).join('/')}`, 'latin1');
        const native = slash && names.length > 0 ? Buffer.concat([path, Buffer.from('/')]) : path;
        const text = native.toString('utf8');
        const given = Buffer.from(text).equals(native) ? text : new Uint8Array(native);

        expect(bytesOf(PathUri.parse(PathUri.fromNative(given).href).toNative())).toBe(bytesOf(given));
      }),
      { numRuns: 1000 },
    );
  });

  it('agrees with the one Node makes for ordinary names', async () => {
    const { pathToFileURL } = await import('node:url');
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .filter((text) => !/[/\0|^[\]~]/.test(text));
    fc.assert(
      fc.property(
        name.filter((text) => text !== '.' && text !== '..' && !/^[a-z]:$/i.test(text)),
        (text) => {
          expect(PathUri.fromNative(`/d/${text}`).href).toBe(pathToFileURL(`/d/${text}`).href);
        },
      ),
      { numRuns: 300 },
    );
  });
});
