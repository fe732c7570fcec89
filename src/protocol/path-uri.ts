import { decodeBase64, encodeBase64, encodeUtf8 } from '../base/index.ts';
import { ExecError } from './errors.ts';

/** A native path: text where its bytes are UTF-8, the bytes otherwise. */
export type NativePath = string | Uint8Array;

/** Prefix of the spelling for native paths that no ordinary file URI can name. */
const OPAQUE = '/%00/bad/path/';

/** A path as it travels: a `file:` URI, parsed by the rules of WHATWG URLs. */
export class PathUri {
  readonly href: string;
  readonly #url: URL;

  private constructor(url: URL) {
    this.#url = url;
    this.href = url.href;
  }

  /** Parses a URI, or a native absolute path as clients before June 2026 send it. */
  static parse(text: string): PathUri {
    if (text.startsWith('/')) return PathUri.fromNative(text);
    const url = parseUrl(text);
    if (url.protocol !== 'file:') throw invalid(`unsupported path URI scheme \`${url.protocol.slice(0, -1)}\``);
    if (url.href.includes('#')) throw invalid('fragments are not allowed in path URIs');
    if (url.href.includes('?')) throw invalid('query parameters are not allowed in path URIs');
    if (/%00/.test(url.pathname) && !url.pathname.startsWith(OPAQUE)) throw invalid("'URI' is invalid on 'linux'");
    if (/^\/[a-z]:(\/|$)/.test(url.pathname)) url.pathname = url.pathname.slice(0, 2).toUpperCase() + url.pathname.slice(2);
    return new PathUri(url);
  }

  static fromNative(path: NativePath): PathUri {
    const ordinary = new URL(`file://${escapePath(path)}`);
    if (!needsOpaqueSpelling(path)) return new PathUri(ordinary);
    const encoded = encodeBase64(typeof path === 'string' ? encodeUtf8(path) : path);
    return new PathUri(new URL(`file://${OPAQUE}${encoded.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`));
  }

  /** The path this URI names on Linux. */
  toNative(): NativePath {
    const { pathname, host } = this.#url;
    if (pathname.startsWith(OPAQUE)) return this.#opaquePath(pathname.slice(OPAQUE.length));
    if (host !== '' || isDrivePath(pathname)) throw this.#foreign();
    return textOrBytes(unescapePath(pathname));
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }

  #opaquePath(encoded: string): NativePath {
    let path: NativePath;
    try {
      const standard = encoded.replaceAll('-', '+').replaceAll('_', '/');
      path = textOrBytes(decodeBase64(standard.padEnd(Math.ceil(standard.length / 4) * 4, '=')));
    } catch {
      throw this.#foreign(); // not base64: nothing this host could have written
    }
    const canonical = needsOpaqueSpelling(path) && PathUri.fromNative(path).href === this.href;
    if (!canonical || hasNul(path)) throw this.#foreign();
    return path;
  }

  #foreign(): ExecError {
    return new ExecError('invalidRequest', `'${this.href}' is invalid on 'linux'`);
  }
}

function parseUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    // Node gives one message for all mistakes; a missing scheme is the usual one.
    const reason = /^[a-z][a-z0-9+.-]*:/i.test(text) ? 'invalid international domain name' : 'relative URL without a base';
    throw invalid(`invalid URI: ${reason}`);
  }
}

function invalid(message: string): ExecError {
  return new ExecError('invalidParams', message);
}

const isDrivePath = (pathname: string): boolean => /^\/[A-Za-z]:(\/|$)/.test(pathname);

const hasNul = (path: NativePath): boolean => (typeof path === 'string' ? path.includes('\0') : path.includes(0));

function needsOpaqueSpelling(path: NativePath): boolean {
  return hasNul(path) || (typeof path === 'string' && isDrivePath(path));
}

/** Percent-encodes what URL syntax would swallow; the URL parser does the rest. */
function escapePath(path: NativePath): string {
  if (typeof path !== 'string') {
    return Array.from(path, (byte) => (byte < 0x80 ? escapePath(String.fromCharCode(byte)) : percent(byte))).join('');
  }
  return path.replace(/[%?#\\\n\r\t\0]/g, (character) => percent(character.charCodeAt(0)));
}

const percent = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;

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
    return bytes; // a name that is no UTF-8 keeps its bytes
  }
}
