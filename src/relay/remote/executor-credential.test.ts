import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { ExecutorCredentials } from './executor-credential.ts';

const frame = (changes: object = {}): string =>
  `${JSON.stringify({ version: 1, environment_id: 'env', token: 'first', expires_at: 4_102_444_800, ...changes })}\n`;

const never = new AbortController().signal;

function reading(...lines: string[]) {
  const input = new PassThrough();
  const credentials = new ExecutorCredentials(input, 'env');
  for (const line of lines) input.write(line);
  return { input, credentials };
}

describe('credentials on an input', () => {
  it('are waited for, and replaced by newer ones', async () => {
    const { input, credentials } = reading();
    const first = credentials.headers(never);
    input.write(frame());
    expect(await first).toEqual({ authorization: 'Bearer first' });

    input.end(frame({ token: 'second' }));
    await credentials.ended;

    expect(await credentials.headers(never)).toEqual({ authorization: 'Bearer second' });
  });

  it.each([
    [frame({ environment_id: 'other' }), 'executor credential is for a different environment'],
    [frame({ expires_at: 1 }), 'executor credential is expired'],
    [frame({ version: 2 }), 'invalid executor credential frame'],
    [frame({ extra: true }), 'invalid executor credential frame'],
    [frame({ token: '' }), 'invalid executor credential frame'],
    [frame({ token: 'a\r\nb' }), 'invalid executor credential frame'],
    [frame({ expires_at: '9' }), 'invalid executor credential frame'],
    ['secret text\n', 'invalid executor credential frame'],
    ['[]\n', 'invalid executor credential frame'],
    ['x'.repeat(70_000), 'invalid executor credential frame'],
  ])('end with %.60s', async (line, reason) => {
    const { credentials } = reading(frame(), line);

    await expect(credentials.ended).rejects.toThrow(new Error(reason));
  });

  it('fail when the input ends before the first one', async () => {
    const { input, credentials } = reading();
    input.end();

    await expect(credentials.ended).rejects.toThrow('exec-server executor credential pipe closed');
  });

  it('expire while they are in use', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
    const { credentials } = reading(frame({ expires_at: 1001 }));
    expect(await credentials.headers(never)).toEqual({ authorization: 'Bearer first' });

    vi.setSystemTime(1_001_000);

    await expect(credentials.headers(never)).rejects.toThrow('executor credential is expired');
    vi.useRealTimers();
  });

  it('are not waited for after an abort', async () => {
    const { credentials } = reading();

    await expect(credentials.headers(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });
});
