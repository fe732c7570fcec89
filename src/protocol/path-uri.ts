import { decodeBase64, decodeLatin1, encodeBase64, encodeUtf8 } from '../base/index.ts';
import { ExecError } from './errors.ts';
import { urlFault } from './url-fault.ts';

/** A native path: text where its bytes are UTF-8, the bytes otherwise. */
export type NativePath = string | Uint8Array;

/** Prefix of the spelling for native paths that no ordinary file URI can name. */
const OPAQUE = '/%00/bad/path/';

const SCHEME = 'file://';

/** URIs that the rules of WHATWG leave as they are: this test is several times faster than the parser. */
const PLAIN = /^file:\/\/(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9_.~+=@,-]+)+$/;
const LONGEST_PLAIN = 4096;
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$)/;

/**
 * The WHATWG rules read `c|` as a drive; the reference reads it as a name, but only after exactly three slashes, and `..` does not
 * remove that name.
 */
const BAR_NAME = /^(\s*file:\/{3}[a-z])\|(?=[/\\?#\s]|$)/i;

/** The wire form of a path: a `file:` URI, parsed by the rules of WHATWG URLs. */
export class PathUri {
  readonly href: string;
  readonly #pathname: string;
  readonly #host: string;

  private constructor(href: string, pathname: string, host: string) {
    this.href = href;
    this.#pathname = pathname;
    this.#host = host;
  }

  static #of(url: URL): PathUri {
    // The parser of Node 20 leaves dot segments after a name that begins with a dot: `/.git/..`.
    if (DOT_SEGMENT.test(url.pathname)) {
      url.pathname = withoutDotSegments(url.pathname, isDrivePath(url.pathname) ? 1 : 0);
    }
    return new PathUri(url.href, url.pathname, url.host);
  }

  /** Parses a URI, or a native absolute path as clients before June 2026 send it. */
  static parse(text: string): PathUri {
    if (text.length < LONGEST_PLAIN && PLAIN.test(text)) return new PathUri(text, text.slice(SCHEME.length), '');
    if (text.startsWith('/')) return PathUri.fromNative(text);
    const url = parseUrl(text.replace(BAR_NAME, '$1:'));
    if (BAR_NAME.test(text)) url.pathname = `${url.pathname.slice(0, 2)}%7C${url.pathname.slice(3)}`;
    if (url.protocol !== 'file:') throw invalid(`unsupported path URI scheme \`${url.protocol.slice(0, -1)}\``);
    const [beforeFragment, fragment] = url.href.split('#', 2);
    if (beforeFragment!.includes('?')) throw invalid('query parameters are not allowed in path URIs');
    if (fragment !== undefined) throw invalid('fragments are not allowed in path URIs');
    if (url.pathname.includes('%00') && !url.pathname.startsWith(OPAQUE))
      throw invalid(`'${url.href}' is invalid on 'linux'`);
    if (/^\/[a-z]:(\/|$)/.test(url.pathname))
      url.pathname = url.pathname.slice(0, 2).toUpperCase() + url.pathname.slice(2);
    return PathUri.#of(url);
  }

  /** Names an absolute native path. */
  static fromNative(path: NativePath): PathUri {
    if (asciiText(path).startsWith('/')) return PathUri.#ofNative(path);
    throw invalid(`expected an absolute path, such as /srv/notes.txt, not '${asciiText(path)}'`);
  }

  static #ofNative(path: NativePath): PathUri {
    const url = new URL('file:///');
    // Set as a member: the parser of whole URLs drops blanks and control characters at the end.
    url.pathname = needsOpaqueSpelling(path) ? `${OPAQUE}${encodeBase64Url(path)}` : escapePath(path);
    return PathUri.#of(url);
  }

  /** The path this URI names on Linux. */
  toNative(): NativePath {
    const pathname = this.#pathname;
    if (pathname.startsWith(OPAQUE)) return this.#opaquePath(pathname.slice(OPAQUE.length));
    if (this.#host !== '' || isDrivePath(pathname)) throw this.#foreign();
    if (!pathname.includes('%')) return pathname; // nothing is escaped: plain ASCII
    return textOrBytes(unescapePath(withoutEscapedDotSegments(pathname)));
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }

  /** The form in which `console.log` of Node shows the path, also inside other values. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `PathUri(${this.href})`;
  }

  #opaquePath(encoded: string): NativePath {
    let path: NativePath;
    try {
      const standard = encoded.replaceAll('-', '+').replaceAll('_', '/');
      path = textOrBytes(decodeBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, '=')));
    } catch {
      throw this.#foreign(); // not base64, so not from a Linux host
    }
    const canonical =
      needsOpaqueSpelling(path) && !DOT_SEGMENT.test(asciiText(path)) && PathUri.#ofNative(path).href === this.href;
    if (!canonical) throw this.#foreign();
    if (hasNul(path)) throw new ExecError('invalidRequest', 'file name contained an unexpected NUL byte');
    return path;
  }

  #foreign(): ExecError {
    return new ExecError('invalidRequest', `'${this.href}' is invalid on 'linux'`);
  }
}

/** Applies the dot segments of a path; they do not remove its first `kept` names. */
function withoutDotSegments(pathname: string, kept: number): string {
  const names: string[] = [];
  const given = pathname.split('/').slice(1);
  for (const [index, name] of given.entries()) {
    if (name === '..' && names.length > kept) names.pop();
    if (name !== '.' && name !== '..') names.push(name);
    else if (index === given.length - 1) names.push('');
  }
  return `/${names.join('/')}`;
}

/** Applies dot segments between escaped slashes, as the reference does; the WHATWG rules apply only those between plain slashes. */
function withoutEscapedDotSegments(pathname: string): string {
  const spelledOut = pathname.replaceAll(/%2f/gi, '/').replaceAll(/%2e/gi, '.');
  return DOT_SEGMENT.test(spelledOut) ? withoutDotSegments(spelledOut, 0) : pathname;
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw invalid(`invalid URI: ${urlFault(text)}`);
  }
}

function invalid(message: string): ExecError {
  return new ExecError('invalidParams', message);
}

const isDrivePath = (pathname: string): boolean => /^\/[A-Za-z]:(\/|$)/.test(pathname);

const hasNul = (path: NativePath): boolean => (typeof path === 'string' ? path.includes('\0') : path.includes(0));

function needsOpaqueSpelling(path: NativePath): boolean {
  return hasNul(path) || isDrivePath(asciiText(path));
}

/** The text of a path; only its ASCII characters are decoded correctly. */
const asciiText = (path: NativePath): string => (typeof path === 'string' ? path : decodeLatin1(path));

function encodeBase64Url(path: NativePath): string {
  const encoded = encodeBase64(typeof path === 'string' ? encodeUtf8(path) : path);
  return encoded.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Percent-encodes characters that have a meaning in URLs, and `|` of a Windows drive; the URL parser encodes the rest. */
function escapePath(path: NativePath): string {
  const escaped = asciiText(path)
    .replace(/[%?#\\\n\r\t\0]/g, percent)
    .replace(/^(\/[A-Za-z])\|(?=\/|$)/, '$1%7C');
  return typeof path === 'string' ? escaped : escaped.replace(/[\x80-\xff]/g, percent);
}

const percent = (character: string): string =>
  `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

function unescapePath(pathname: string): Uint8Array {
  const bytes: number[] = [];
  for (let at = 0; at < pathname.length; at++) {
    const escaped = pathname[at] === '%' && /^[0-9a-f]{2}$/i.test(pathname.slice(at + 1, at + 3));
    bytes.push(escaped ? Number.parseInt(pathname.slice(at + 1, at + 3), 16) : pathname.charCodeAt(at));
    if (escaped) at += 2;
  }
  return Uint8Array.from(bytes);
}

function textOrBytes(bytes: Uint8Array): NativePath {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes; // a name that is not UTF-8 keeps its bytes
  }
}
