import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readAuth } from './auth-options.ts';

const directory = mkdtempSync(join(tmpdir(), 'auth-'));
afterAll(() => rmSync(directory, { recursive: true }));

function fileOf(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const token = fileOf('token', ' abc\n');
const secret = fileOf('secret', `  ${'s'.repeat(32)}\n`);
const abc = Buffer.from('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'hex');

describe('authentication', () => {
  it('is none without flags', () => {
    expect(readAuth({})).toEqual({ type: 'none' });
  });

  it('by a capability token takes the trimmed token of a file, or a digest', () => {
    const digests = [
      { 'ws-token-file': token },
      { 'ws-token-file': relative(process.cwd(), token) },
      { 'ws-token-sha256': abc.toString('hex').toUpperCase() },
    ];

    for (const flags of digests) {
      expect(readAuth({ 'ws-auth': 'capability-token', ...flags })).toEqual({ type: 'capability-token', sha256: abc });
    }
  });

  it('by a signed token tolerates a clock skew of 30 seconds by default', () => {
    const flags = { 'ws-auth': 'signed-bearer-token', 'ws-shared-secret-file': secret };

    expect(readAuth(flags)).toEqual({
      type: 'signed-bearer-token',
      secret: Buffer.from('s'.repeat(32)),
      maxClockSkewSeconds: 30,
    });
    expect(readAuth({ ...flags, 'ws-issuer': 'i', 'ws-audience': 'a', 'ws-max-clock-skew-seconds': '0' })).toEqual({
      type: 'signed-bearer-token',
      secret: Buffer.from('s'.repeat(32)),
      issuer: 'i',
      audience: 'a',
      maxClockSkewSeconds: 0,
    });
  });

  it.each<[Record<string, string>, string]>([
    [
      { 'ws-token-file': token },
      'websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`',
    ],
    [{ 'ws-issuer': 'i' }, 'websocket auth flags require'],
    [
      { 'ws-auth': 'capability-token' },
      '`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set',
    ],
    [
      { 'ws-auth': 'capability-token', 'ws-token-file': token, 'ws-token-sha256': abc.toString('hex') },
      '`--ws-token-file` and `--ws-token-sha256` are mutually exclusive',
    ],
    [
      { 'ws-auth': 'capability-token', 'ws-token-sha256': 'abc' },
      '--ws-token-sha256 must be a 64-character hex SHA-256 digest',
    ],
    [
      { 'ws-auth': 'capability-token', 'ws-token-sha256': 'g'.repeat(64) },
      '--ws-token-sha256 must be a 64-character hex SHA-256 digest',
    ],
    [
      { 'ws-auth': 'capability-token', 'ws-token-file': '/no/such/token' },
      'failed to read websocket auth secret /no/such/token: No such file or directory (os error 2)',
    ],
    [{ 'ws-auth': 'capability-token', 'ws-token-file': fileOf('empty', '\n') }, 'must not be empty'],
    [{ 'ws-auth': 'capability-token', 'ws-token-file': token, 'ws-issuer': 'i' }, '`--ws-issuer`'],
    [
      { 'ws-auth': 'signed-bearer-token' },
      '`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set',
    ],
    [
      { 'ws-auth': 'signed-bearer-token', 'ws-shared-secret-file': fileOf('short', `${'s'.repeat(31)}\n`) },
      `signed websocket bearer secret ${join(directory, 'short')} must be at least 32 bytes`,
    ],
    [
      { 'ws-auth': 'signed-bearer-token', 'ws-shared-secret-file': secret, 'ws-token-file': token },
      '`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`',
    ],
    [
      { 'ws-auth': 'signed-bearer-token', 'ws-shared-secret-file': secret, 'ws-max-clock-skew-seconds': '-1' },
      '--ws-max-clock-skew-seconds',
    ],
    [{ 'ws-auth': 'password' }, "invalid value 'password' for --ws-auth"],
  ])('with %j is refused', (flags, message) => {
    expect(() => readAuth(flags)).toThrow(message);
  });
});
