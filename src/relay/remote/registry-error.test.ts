import { describe, expect, it } from 'vitest';
import { RegistryError, registryErrorFor, retryAfterMs } from './registry-error.ts';

describe('an error of a registry', () => {
  const url = 'http://user:password@registry.test/a/b?token=secret';

  it('shows status, address, code and message of the answer, and no secret of the address', () => {
    const error = registryErrorFor(
      url,
      409,
      '{"error":{"code":"environment_offline","message":"not here"}}',
      undefined,
    );

    expect(error.message).toBe(
      'environment registry request failed (409 Conflict) at http://registry.test/a/b, environment_offline: not here',
    );
    expect([error.status, error.code]).toEqual([409, 'environment_offline']);
  });

  it.each([401, 403])('says that authentication failed for status %i', (status) => {
    expect(registryErrorFor(url, status, '{}', undefined).message).toMatch(
      /^environment registry authentication failed/,
    );
  });

  it('shows at most 4096 characters of an answer that is not an error object', () => {
    const { message } = registryErrorFor(url, 502, `<html>${'x'.repeat(10_000)}`, undefined);

    expect(message.length).toBe(
      'environment registry request failed (502 Bad Gateway) at http://registry.test/a/b: '.length + 4096,
    );
  });

  it.each([[undefined], [408], [429], [500], [503]])('with status %s is transient', (status) => {
    expect(new RegistryError('', status === undefined ? {} : { status }).isTransient).toBe(true);
  });

  it.each([200, 302, 400, 401, 403, 404, 409])('with status %i is not transient', (status) => {
    expect(new RegistryError('', { status }).isTransient).toBe(false);
  });
});

describe('Retry-After', () => {
  it('is seconds or a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');

    expect(retryAfterMs('7', now)).toBe(7000);
    expect(retryAfterMs('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000);
    expect(retryAfterMs('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0);
    expect(retryAfterMs('soon', now)).toBeUndefined();
    expect(retryAfterMs(null, now)).toBeUndefined();
  });
});
