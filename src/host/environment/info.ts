import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { basename, resolve } from 'node:path';
import { version } from '../../base/index.ts';
import { type EnvironmentInfo, methodCapabilities, PathUri } from '../../protocol/index.ts';
import { userHome } from './codex-home.ts';

/** Whether this server has each of the capabilities that not every exec-server has. */
const capabilities: Readonly<Record<string, boolean>> = {
  networkProxyLaunch: true,
  networkProxyReviewDomains: true,
  credentialMasking: false,
  credentialMaskingCustomProviders: false,
  capabilityDiscoverySandbox: true,
  fsWatchMissing: true,
  capabilityDiscoveryV2: true,
  environmentConfigRead: true,
  httpHeaderEnvVars: true,
  sandboxedFileStreaming: true,
  fileWriteStreaming: true,
  shellSnapshotV2: true,
  windowsMxc: false,
  linuxRootWritePreservesDevices: false,
  linuxApprovedRootWritePreservesRestrictions: false,
  ...Object.fromEntries(methodCapabilities.map((name) => [name, true])),
  processStartId: true,
  cwdIdentity: true,
  processPid: true,
  processTimeout: true,
  processMerged: true,
  processPull: true,
  processListAll: true,
  processUser: true,
  processLimits: true,
  sandboxDenials: true,
  errorDetails: true,
  sessionNetwork: true,
};

/** Facts about this machine for a client. */
export function environmentInfo(env: NodeJS.ProcessEnv): EnvironmentInfo {
  const temporary = env.TMPDIR ? [PathUri.fromNative(resolve(env.TMPDIR))] : [];
  return {
    shell: loginShell(env),
    executorVersion: version,
    providerId: providerId(),
    cwd: PathUri.fromNative(process.cwd()),
    userHomeDir: PathUri.fromNative(userHome(env)),
    platformOs: process.platform === 'darwin' ? 'macos' : process.platform,
    prependPathDirs: [],
    temporaryDirectories: temporary,
    tempDir: temporary[0] ?? PathUri.fromNative('/tmp'),
    capabilities: { ...capabilities },
  };
}

const knownShells = ['bash', 'zsh', 'sh'];

/** The account's shell if clients support it, otherwise the first of the usual ones. */
function loginShell(env: NodeJS.ProcessEnv): EnvironmentInfo['shell'] {
  const choices = [accountShell(), env.SHELL, '/bin/bash', '/usr/bin/bash', '/bin/zsh', '/bin/sh'];
  for (const path of choices) {
    if (path && knownShells.includes(basename(path)) && isExecutable(path)) return { name: basename(path), path };
  }
  return { name: 'sh', path: '/bin/sh' };
}

function accountShell(): string | null {
  try {
    return userInfo().shell;
  } catch {
    return null; // in containers, a uid often has no account
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // missing, or not executable by this user
  }
}

/** Stable for one installation on one machine; a digest, which reveals neither. */
function providerId(): string {
  const digest = createHash('sha256')
    .update(`${machineId()}\0${process.argv[1] ?? ''}`)
    .digest('hex');
  return `sha256:${digest}`;
}

function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    return hostname(); // containers often have no machine id
  }
}
