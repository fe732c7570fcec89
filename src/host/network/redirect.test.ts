import { describe, expect, it } from 'vitest';
import type { HttpMessage } from './http-message.ts';
import { redirected } from './redirect.ts';

const headers = ['X', '1', 'Authorization', 'secret', 'Cookie', 'c', 'Content-Type', 'text/plain', 'Referer', 'old'];
const message = (method: string): HttpMessage => ({
  method,
  url: new URL('http://one.example/page?q=1#part'),
  headers,
  environmentHeaders: new Set(['x']),
  body: Buffer.from('body'),
});
const follow = (method: string, status: number, location: string) => redirected(message(method), status, location);

describe('a redirect', () => {
  it('turns a request with a body into a GET without one, except where the status forbids it', () => {
    const rewritten = [301, 302, 303].map((status) => follow('POST', status, '/next'));
    const kept = [307, 308].map((status) => follow('POST', status, '/next'));

    expect(rewritten.map((next) => [next?.method, next?.body, next?.headers.includes('Content-Type')])).toEqual(
      rewritten.map(() => ['GET', undefined, false]),
    );
    expect(kept.map((next) => [next?.method, String(next?.body), next?.headers.includes('Content-Type')])).toEqual(
      kept.map(() => ['POST', 'body', true]),
    );
    expect(follow('HEAD', 303, '/next')?.method).toBe('HEAD');
  });

  it('leaves every method but POST alone unless the status asks for a GET', () => {
    for (const method of ['DELETE', 'PUT', 'PATCH', 'OPTIONS', 'get']) {
      const next = [301, 302, 303, 307].map((status) => follow(method, status, '/next'));
      expect(next.map((one) => one?.method)).toEqual([method, method, 'GET', method]);
      expect(next.map((one) => one?.body?.toString())).toEqual(['body', 'body', undefined, 'body']);
    }
  });

  it('keeps all headers within one origin, and adds a referer', () => {
    const next = follow('GET', 302, '/next');

    expect(next?.url.href).toBe('http://one.example/next');
    expect(next?.headers).toEqual([...headers.slice(0, 8), 'referer', 'http://one.example/page?q=1']);
  });

  it('sends no secret to another origin', () => {
    const next = follow('GET', 302, 'https://two.example/');

    expect(next?.headers).toEqual(['Content-Type', 'text/plain', 'referer', 'http://one.example/']);
  });

  it('takes no credentials of an address it was sent to any further', () => {
    const next = follow('GET', 302, 'http://user:pass@two.example/page')!;

    expect(next.url.href).toBe('http://two.example/page');
    expect(redirected(next, 302, 'http://three.example/')?.headers).toContain('http://two.example/');
  });

  it('is not followed without a location, with an invalid one, or with another status', () => {
    expect(redirected(message('GET'), 302, undefined)).toBeUndefined();
    expect(follow('GET', 302, 'http://[')).toBeUndefined();
    expect([200, 300, 304, 404].map((status) => follow('GET', status, '/next'))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('is refused if its target is not HTTP', () => {
    expect(() => follow('GET', 302, 'ftp://two.example/')).toThrow('redirect target uses unsupported URL scheme: ftp');
  });
});
