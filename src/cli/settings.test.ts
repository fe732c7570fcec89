import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readSettings, settingOptions } from './settings.ts';
import { UsageError } from './usage-error.ts';

const directory = mkdtempSync(join(tmpdir(), 'settings-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** An environment in which the default settings file does not exist. */
const bare = { XDG_CONFIG_HOME: join(directory, 'none') };

function fileOf(text: string): string {
  const path = join(directory, `${Math.random()}.toml`);
  writeFileSync(path, text);
  return path;
}

describe('a setting', () => {
  it('has one name in three spellings', () => {
    expect(Object.keys(settingOptions)).toEqual([
      'shutdown-grace-period-ms',
      'max-processes-per-connection',
      'retained-output-bytes-per-process',
      'allow-direct-exec',
      'allow-prepared-exec',
      'allow-users',
      'max-connections',
      'detached-session-ttl-ms',
      'concurrent-requests',
      'proxy-private-ips-via-upstream',
      'unix-peer-uid',
      'allow-forward',
      'no-fast-path',
      'ops-listen',
      'audit-log',
      'audit-on-full',
      'tokens-file',
    ]);
    expect(settingOptions['allow-direct-exec']?.help).toMatch(
      /\[default: true; env: EXEC_SERVER_ALLOW_DIRECT_EXEC; file: allow_direct_exec\]$/,
    );
  });

  it('is absent unless it is given', async () => {
    expect(await readSettings({}, bare, undefined)).toEqual({});
  });

  it('comes from the flag before the environment before the file', async () => {
    const file = fileOf('max_connections = 1\nconcurrent_requests = 1\nallow_direct_exec = false\n');
    const env = { ...bare, EXEC_SERVER_MAX_CONNECTIONS: '2', EXEC_SERVER_CONCURRENT_REQUESTS: '2' };

    expect(await readSettings({ 'max-connections': '3' }, env, file)).toEqual({
      maxConnections: 3,
      concurrentRequests: 2,
      allowDirectExec: false,
    });
  });

  it('may be a switch: the flag has no value, variable and file say true or false', async () => {
    const file = fileOf('no_fast_path = true\n');

    expect([
      await readSettings({ 'no-fast-path': true }, bare, undefined),
      await readSettings({}, { ...bare, EXEC_SERVER_NO_FAST_PATH: 'true' }, undefined),
      await readSettings({}, bare, file),
      await readSettings({}, { ...bare, EXEC_SERVER_NO_FAST_PATH: 'false' }, file),
    ]).toEqual([{ noFastPath: true }, { noFastPath: true }, { noFastPath: true }, { noFastPath: false }]);
  });

  it('comes from the file the environment names, or from the default one', async () => {
    const named = { ...bare, EXEC_SERVER_CONFIG: fileOf('max_connections = 5') };
    const usual = { XDG_CONFIG_HOME: join(directory, 'usual') };
    await mkdir(join(directory, 'usual', 'exec-server'), { recursive: true });
    writeFileSync(join(directory, 'usual', 'exec-server', 'exec-server.toml'), 'max_connections = 6');

    expect([
      await readSettings({}, named, undefined),
      await readSettings({}, named, fileOf('max_connections = 7')),
      await readSettings({}, usual, undefined),
      await readSettings({}, { ...usual, EXEC_SERVER_CONFIG: '' }, undefined),
    ]).toEqual([{ maxConnections: 5 }, { maxConnections: 7 }, { maxConnections: 6 }, { maxConnections: 6 }]);
  });

  it('may be zero where that means something', async () => {
    expect(
      await readSettings({ 'detached-session-ttl-ms': '0', 'shutdown-grace-period-ms': '0' }, bare, undefined),
    ).toEqual({
      detachedSessionTtlMs: 0,
      shutdownGracePeriodMs: 0,
    });
  });

  it.each([
    ['concurrent-requests', '0', "invalid value '0' for --concurrent-requests"],
    ['concurrent-requests', 'many', "invalid value 'many' for --concurrent-requests"],
    ['concurrent-requests', '-1', "invalid value '-1' for --concurrent-requests"],
    ['concurrent-requests', '1.5', "invalid value '1.5' for --concurrent-requests"],
    ['concurrent-requests', '', "invalid value '' for --concurrent-requests"],
    ['detached-session-ttl-ms', '2147483648', "invalid value '2147483648' for --detached-session-ttl-ms"],
    ['allow-direct-exec', 'yes', "invalid value 'yes' for --allow-direct-exec: expected true or false"],
  ])('--%s=%s is wrong usage', async (flag, value, message) => {
    const reading = readSettings({ [flag]: value }, bare, undefined);

    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toBeInstanceOf(UsageError);
  });

  it('with a wrong value names the place it was given', async () => {
    await expect(readSettings({}, { ...bare, EXEC_SERVER_MAX_CONNECTIONS: 'x' }, undefined)).rejects.toThrow(
      "invalid value 'x' for EXEC_SERVER_MAX_CONNECTIONS",
    );
    await expect(readSettings({}, bare, fileOf('max_connections = "x"'))).rejects.toThrow(
      /invalid value 'x' for max_connections in \/.*\.toml:1: expected a whole number/,
    );
  });

  it.each([
    ['an unknown name', '# one\nmax_conections = 1', /^unknown setting max_conections in \/.*\.toml:2; settings are /],
    ['broken text', '# one\nmax_connections = ', /^cannot read settings from \/.*\.toml:2:\d+: Invalid TOML/],
  ])('file with %s is wrong usage, told with the line', async (_, text, message) => {
    const reading = readSettings({}, bare, fileOf(text));

    await expect(reading).rejects.toThrow(message);
    await expect(reading).rejects.toBeInstanceOf(UsageError);
  });

  it('file that was asked for must exist', async () => {
    await expect(readSettings({}, bare, join(directory, 'missing.toml'))).rejects.toThrow('cannot read settings from ');
  });
});
