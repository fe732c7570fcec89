import { describe, expect, it } from 'vitest';
import { forwardedHeaders } from './hop-headers.ts';

describe('forwarded headers', () => {
  it('keep their order and repetitions, without the hop-by-hop headers', () => {
    const raw = [
      'Host',
      'lie.example',
      'A',
      '1',
      'Connection',
      'X-Hop, close',
      'X-Hop',
      'h',
      'a',
      '2',
      'Proxy-Authorization',
      'p',
    ];

    expect(forwardedHeaders(raw, { host: 'true.example:81', framed: true })).toEqual([
      'Host',
      'true.example:81',
      'A',
      '1',
      'a',
      '2',
    ]);
  });

  it('keep the headers that frame a request, even if the Connection header names them', () => {
    const raw = [
      'Transfer-Encoding',
      'chunked',
      'Connection',
      'transfer-encoding, content-length',
      'Content-Length',
      '1',
    ];

    expect(forwardedHeaders(raw, { host: 'h', framed: true })).toEqual([
      'Host',
      'h',
      'Transfer-Encoding',
      'chunked',
      'Content-Length',
      '1',
    ]);
  });

  it('announce a length of 0 for a request without a body', () => {
    expect(forwardedHeaders([], { host: 'h', framed: false })).toEqual(['Host', 'h', 'Content-Length', '0']);
  });

  it('of an answer have no transfer encoding, which the server that sends it chooses', () => {
    expect(forwardedHeaders(['Transfer-Encoding', 'chunked', 'Set-Cookie', 'a', 'Set-Cookie', 'b'])).toEqual([
      'Set-Cookie',
      'a',
      'Set-Cookie',
      'b',
    ]);
  });
});
