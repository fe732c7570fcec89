import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAuthority } from '../../test/support/test-authority.ts';
import { silentLogger } from '../base/index.ts';
import { parseListenUrl } from '../server/index.ts';
import { readTls, type TlsValues } from './tls-options.ts';
import { UsageError } from './usage-error.ts';

let authority: TestAuthority;
const files: Record<string, string> = {};
beforeAll(() => {
  authority = new TestAuthority();
  const [one, other] = [authority.issue('DNS:one'), authority.issue('DNS:other')];
  files.cert = authority.write('one.pem', one.cert);
  files.key = authority.write('one.key', one.key);
  files.otherKey = authority.write('other.key', other.key);
  files.text = authority.write('text', 'no PEM');
  files.missing = `${authority.folder}/missing`;
});
afterAll(() => authority[Symbol.dispose]());

const read = (url: string, cert?: string, key?: string) => {
  const values: TlsValues = { ...(cert && { 'tls-cert': files[cert]! }), ...(key && { 'tls-key': files[key]! }) };
  return readTls(values, parseListenUrl(url), silentLogger);
};

describe('the certificate of a listener', () => {
  it('is read with its key for a wss:// address, and absent for others', () => {
    expect(read('wss://127.0.0.1:0', 'cert', 'key')?.certificate.toString()).toContain('BEGIN CERTIFICATE');
    expect(read('ws://127.0.0.1:0')).toBeUndefined();
  });

  it.each([
    ['wss://127.0.0.1:0', undefined, undefined, /^--listen wss:\/\/IP:PORT needs --tls-cert FILE and --tls-key FILE$/],
    ['wss://127.0.0.1:0', 'cert', undefined, /needs --tls-cert FILE and --tls-key FILE$/],
    ['ws://127.0.0.1:0', 'cert', 'key', /^--tls-cert and --tls-key are for a wss:\/\/ address/],
    ['unix:/x', undefined, 'key', /^--tls-cert and --tls-key are for a wss:\/\/ address/],
    ['wss://127.0.0.1:0', 'missing', 'key', /^cannot read .*missing, the file of --tls-cert: there is no such file$/],
    ['wss://127.0.0.1:0', 'text', 'key', /text contains no certificate in PEM form$/],
    ['wss://127.0.0.1:0', 'cert', 'text', /text contains no private key in PEM form$/],
    ['wss://127.0.0.1:0', 'cert', 'otherKey', /other\.key does not belong to the first certificate in .*one\.pem$/],
  ])('for %s from %s and %s is wrong usage', (url, cert, key, message) => {
    expect(() => read(url, cert, key)).toThrow(message);
    expect(() => read(url, cert, key)).toThrow(UsageError);
  });
});
