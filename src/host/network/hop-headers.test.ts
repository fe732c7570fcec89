import { describe, expect, it } from 'vitest';
import { forwardedHeaders } from './hop-headers.ts';

describe('forwarded headers', () => {
  it('keep their order and repetitions and lose what is between neighbours', () => {
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

  it('keep how a request is framed, whatever the Connection header says of it', () => {
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

  it('announce the end of a request that has no body', () => {
    expect(forwardedHeaders([], { host: 'h', framed: false })).toEqual(['Host', 'h', 'Content-Length', '0']);
  });

  it('leave the framing of an answer to those who send it', () => {
    expect(forwardedHeaders(['Transfer-Encoding', 'chunked', 'Set-Cookie', 'a', 'Set-Cookie', 'b'])).toEqual([
      'Set-Cookie',
      'a',
      'Set-Cookie',
      'b',
    ]);
  });
});
