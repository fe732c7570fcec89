import { describe, expect, it, vi } from 'vitest';
import { environmentInfo } from './info.ts';

const account = vi.hoisted(() => ({ known: true }));

vi.mock('node:os', async (original) => {
  const os = await original<typeof import('node:os')>();
  const lookUp =
    <T>(real: () => T) =>
    (): T => {
      if (!account.known) throw new Error('A system error occurred: uv_os_get_passwd returned ENOENT (no such file)');
      return real();
    };
  return { ...os, userInfo: lookUp(os.userInfo), homedir: lookUp(os.homedir) };
});

const wire = (env: NodeJS.ProcessEnv) => JSON.parse(JSON.stringify(environmentInfo(env)));

describe('environment info', () => {
  it('has every field of the reference', () => {
    expect(wire({ HOME: '/home/u', TMPDIR: '/var/my tmp' })).toMatchObject({
      shell: { name: expect.stringMatching(/^(?:bash|zsh|sh)$/), path: expect.stringMatching(/^\//) },
      executorVersion: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      providerId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      cwd: expect.stringMatching(/^file:\/\/\//),
      userHomeDir: 'file:///home/u',
      platformOs: 'linux',
      prependPathDirs: [],
      temporaryDirectories: ['file:///var/my%20tmp'],
      tempDir: 'file:///var/my%20tmp',
    });
  });

  it('names /tmp where TMPDIR is not set', () => {
    expect(wire({})).toMatchObject({ temporaryDirectories: [], tempDir: 'file:///tmp' });
  });

  it('resolves relative directories against the working directory of the server', () => {
    expect(wire({ HOME: 'home', TMPDIR: 'my tmp' })).toMatchObject({
      userHomeDir: `file://${process.cwd()}/home`,
      tempDir: `file://${process.cwd()}/my%20tmp`,
    });
  });

  it('names every capability of the reference, and those of this server', () => {
    const { capabilities } = wire({});

    expect(Object.values(capabilities).every((capability) => typeof capability === 'boolean')).toBe(true);
    expect(Object.keys(capabilities)).toEqual(
      expect.arrayContaining([
        'networkProxyLaunch',
        'networkProxyReviewDomains',
        'credentialMasking',
        'credentialMaskingCustomProviders',
        'capabilityDiscoverySandbox',
        'fsWatchMissing',
        'capabilityDiscoveryV2',
        'environmentConfigRead',
        'httpHeaderEnvVars',
        'sandboxedFileStreaming',
        'fileWriteStreaming',
        'shellSnapshotV2',
        'windowsMxc',
        'linuxRootWritePreservesDevices',
        'linuxApprovedRootWritePreservesRestrictions',
      ]),
    );
    expect(capabilities).toMatchObject({
      processCloseStdin: true,
      processResize: true,
      processWait: true,
      processSnapshot: true,
      processList: true,
    });
  });

  it('is complete for a user without an account, as in containers', () => {
    account.known = false;

    expect(wire({ SHELL: '/bin/sh' })).toMatchObject({
      shell: { name: 'sh', path: '/bin/sh' },
      userHomeDir: 'file:///',
    });
  });
});
