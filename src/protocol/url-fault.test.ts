import { describe, expect, it } from 'vitest';
import { urlFault } from './url-fault.ts';

// Compared with the reference, one by one.
describe('a text that is not a URL', () => {
  it.each([
    ['relative URL without a base', ['', 'x', '//x', '1http://x']],
    [
      'empty host',
      [
        'http://',
        'http:///',
        'http:',
        'http:\\\\',
        'http://?',
        'http://:80/',
        'http://user@/',
        'foo://:x',
        'file://\u00ad/x',
      ],
    ],
    ['invalid IPv6 address', ['http://[', 'http://[::1', 'http://[x]/', 'http://[::1]x/', 'foo://[']],
    ['invalid IPv4 address', ['http://127.0.0.256/', 'http://1.2.3.4.5/', 'http://0x1.0.0.300/', 'file://1.2.3.256/x']],
    [
      'invalid port number',
      ['http://127.0.0.1:x/', 'http://127.0.0.1:99999/', 'http://127.0.0.1:1:2/', 'http://[::1]:x/'],
    ],
    [
      'invalid international domain name',
      ['http://a b/', 'http://a%00b/', 'http://%zz/', 'http://xn--/', 'file://u@/x'],
    ],
    ['invalid domain character', ['foo://a b']],
  ])('has an %s', (fault, texts) => {
    expect(texts.filter((text) => URL.canParse(text))).toEqual([]);
    expect(texts.map(urlFault)).toEqual(texts.map(() => fault));
  });
});
