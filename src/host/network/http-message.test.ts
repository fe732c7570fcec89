import { describe, expect, it } from 'vitest';
import { httpMessage } from './http-message.ts';

const usual = { method: 'GET', url: 'http://h.example/', requestId: 'r' };
const env = { TOKEN: 'from-env', EMPTY: '', OWN: 'secret' };
const made = (params: object) => httpMessage({ ...usual, ...params }, env, (name) => name === 'OWN');

describe('an HTTP message', () => {
  it('has the headers asked for, in their order and as often, and accepts anything unless told otherwise', () => {
    const headers = [
      { name: 'X', value: '1' },
      { name: 'Accept', value: 'a/b' },
      { name: 'x', value: '2' },
    ];

    expect(made({ headers }).headers).toEqual(['X', '1', 'Accept', 'a/b', 'x', '2']);
    expect(made({}).headers).toEqual(['accept', '*/*']);
  });

  it('has no headers about the connection or the length of the body, which the HTTP client sets', () => {
    const names = ['Connection', 'Content-Length', 'Transfer-Encoding', 'Expect', 'Upgrade', 'Keep-Alive'];

    expect(made({ headers: names.map((name) => ({ name, value: '9' })) }).headers).toEqual(['accept', '*/*']);
  });

  it('appends variables of the environment to values, but none that is missing, empty or protected', () => {
    const value = (valueEnvVar: string) => made({ headers: [{ name: 'X', value: 'Bearer ', valueEnvVar }] }).headers[1];

    expect(value('TOKEN')).toBe('Bearer from-env');
    expect(() => value('NONE')).toThrow('http/request header X requires executor environment variable NONE');
    expect(() => value('__proto__')).toThrow('requires executor environment variable __proto__');
    expect(() => value('toString')).toThrow('requires executor environment variable toString');
    expect(() => value('EMPTY')).toThrow('requires a non-empty executor environment variable EMPTY');
    expect(() => value('OWN')).toThrow('http/request header X cannot use executor environment variable OWN');
  });

  it('encodes text that is not ASCII as UTF-8', () => {
    expect(made({ headers: [{ name: 'X', value: 'é' }] }).headers[1]).toBe('\u00c3\u00a9');
  });

  it('turns credentials in the URL into a header', () => {
    const { url, headers } = made({ url: 'http://user:p%40ss@h.example/x' });

    expect(url.href).toBe('http://h.example/x');
    expect(headers).toEqual(['accept', '*/*', 'authorization', 'Basic dXNlcjpwQHNz']);
  });

  it.each([
    ['100%:p%4', 'Basic MTAwJTpwJTQ='],
    ['user:%ff', 'Basic dXNlcjo='],
    ['%ff:pass', undefined],
  ])('takes the credentials %s of a URL as far as they are UTF-8', (credentials, header) => {
    expect(made({ url: `http://${credentials}@h.example/` }).headers[3]).toBe(header);
  });

  it('is refused with an error that names the invalid part', () => {
    expect(() => made({ method: 'BAD METHOD' })).toThrow('http/request method is invalid');
    expect(() => made({ method: 'G T' })).toThrow('http/request method is invalid');
    expect(() => made({ url: 'nowhere' })).toThrow('http/request url is invalid: relative URL without a base');
    expect(() => made({ url: 'ftp://h/' })).toThrow('http/request only supports http and https URLs, got ftp');
    expect(() => made({ headers: [{ name: 'a b', value: '' }] })).toThrow('http/request header name is invalid');
    expect(() => made({ headers: [{ name: 'X', value: 'a\nb' }] })).toThrow('header value is invalid for X');
  });
});
