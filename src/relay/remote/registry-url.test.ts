import { describe, expect, it } from 'vitest';
import { parseEnvironmentId, parseRegistryUrl, requireEncryption, requireIssuer } from './registry-url.ts';

describe('the base URL of a registry', () => {
  it.each([
    [' http://h/api// ', 'http://h/api'],
    ['https://h:8443/', 'https://h:8443/'],
    ['http://127.0.0.1:1', 'http://127.0.0.1:1/'],
  ])('is %j without blanks and trailing slashes', (text, href) => {
    expect(parseRegistryUrl(text).href).toBe(href);
  });

  it.each(['', '  ', 'x', 'ws://127.0.0.1:1', 'file:///etc'])('is not %j', (text) => {
    expect(() => parseRegistryUrl(text)).toThrow(/environment registry base URL/);
  });
});

describe('an environment id', () => {
  it('is trimmed and put into URLs as it is', () => {
    expect(parseEnvironmentId(' env_1-A ')).toBe('env_1-A');
  });

  it.each(['', ' ', 'a/b', 'a?b', '..', 'ä', 'x'.repeat(65)])('is not %j', (text) => {
    expect(() => parseEnvironmentId(text)).toThrow(/environment id/);
  });

  it('is named when it is wrong', () => {
    expect(() => parseEnvironmentId('my box')).toThrow("invalid environment id 'my box': expected 1 to 64 letters");
  });
});

const here = ['http://127.0.0.1:1', 'http://localhost', 'http://[::1]:2', 'https://127.0.0.1'];

describe('a token for one registry', () => {
  it.each([...here, 'https://registry.example'])('may be sent to %s', (url) => {
    expect(() => requireEncryption(new URL(url))).not.toThrow();
  });

  it.each(['http://registry.example', 'http://127.0.0.1.example', 'http://10.0.0.1'])(
    'may not be sent to %s',
    (url) => {
      expect(() => requireEncryption(new URL(url))).toThrow(/requires https/);
    },
  );
});

describe('an API key', () => {
  it.each([...here, 'https://openai.com', 'https://api.openai.com', 'https://x.y.openai.org'])(
    'may be sent to %s',
    (url) => {
      expect(() => requireIssuer(new URL(url))).not.toThrow();
    },
  );

  it.each(['https://example.com', 'https://notopenai.com', 'https://openai.com.example', 'http://api.openai.com'])(
    'may not be sent to %s',
    (url) => {
      expect(() => requireIssuer(new URL(url))).toThrow(/restricted to HTTPS openai.com and openai.org/);
    },
  );
});
