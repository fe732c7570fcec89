import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { familyMark, killFamily, nativeStatus, PROCESS_MASK, spawn } from '../os/index.ts';

export interface Check {
  readonly name: string;
  /** `warning`: the server runs, but something users may want is not there. */
  readonly verdict: 'ok' | 'warning' | 'missing';
  readonly finding: string;
  readonly remedy?: string;
}

/** Looks at this machine by trying things, not by reading version numbers. */
export async function examine(): Promise<Check[]> {
  const native = nativeAddon();
  return [
    nodeVersion(),
    native,
    ...(native.verdict === 'ok' ? [await processes(), await terminals(), await families()] : []),
    bubblewrap(),
    userNamespaces(),
    seccomp(),
    cgroups(),
  ];
}

function nodeVersion(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const name = 'Node.js';
  if (major > 20 || (major === 20 && minor >= 19)) return { name, verdict: 'ok', finding: process.version };
  return {
    name,
    verdict: 'missing',
    finding: `${process.version} is too old`,
    remedy: 'install Node.js 20.19 or newer',
  };
}

function nativeAddon(): Check {
  const name = 'native addon';
  const status = nativeStatus();
  if (status.ready) return { name, verdict: 'ok', finding: 'loads' };
  return { name, verdict: 'missing', finding: status.reason, remedy: 'run npm run build:native' };
}

async function processes(): Promise<Check> {
  return tryCommand('processes', { type: 'pipe', stdin: 'closed' }, 'commands run behind pipes');
}

async function terminals(): Promise<Check> {
  return tryCommand(
    'terminals',
    { type: 'pty', rows: 24, cols: 80 },
    'commands run in a terminal',
    'mount devpts on /dev/pts',
  );
}

async function tryCommand(
  name: string,
  io: Parameters<typeof spawn>[0]['io'],
  finding: string,
  remedy = 'check that /bin/sh exists and that this account may start processes (ulimit -u)',
): Promise<Check> {
  try {
    await using child = spawn({ argv: ['/bin/sh', '-c', 'exit 7'], cwd: '/', env: {}, io, mark: 0n });
    const status = await child.exited;
    if ('code' in status && status.code === 7) return { name, verdict: 'ok', finding };
    return { name, verdict: 'missing', finding: `a test command ended with ${JSON.stringify(status)}`, remedy };
  } catch (error) {
    return { name, verdict: 'missing', finding: (error as Error).message, remedy };
  }
}

/** Starts a daemon the way daemons start themselves and sees whether it can be found again. */
async function families(): Promise<Check> {
  const name = 'ending process families';
  const mark = familyMark(process.pid, 0, 1);
  const argv = ['/bin/sh', '-c', 'setsid sleep 60 >/dev/null 2>&1 & sleep 60'];
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  const child = spawn({ argv, cwd: '/', env, io: { type: 'pipe', stdin: 'closed' }, mark });
  const killed = await killFamily(mark, PROCESS_MASK);
  await child[Symbol.asyncDispose]();
  if (killed > 0) return { name, verdict: 'ok', finding: 'descendants are found wherever they went' };
  return {
    name,
    verdict: 'warning',
    finding: 'the limit that marks a family (RLIMIT_RTTIME) is already set, so daemons of a command may outlive it',
    remedy: 'start the server with ulimit -R unlimited',
  };
}

function bubblewrap(): Check {
  const name = 'bubblewrap';
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'bwrap'))
    .find(isExecutable);
  if (path) return { name, verdict: 'ok', finding: path };
  return {
    name,
    verdict: 'warning',
    finding: 'bwrap is not in PATH: sandboxed commands are refused',
    remedy: 'apt-get install bubblewrap',
  };
}

function userNamespaces(): Check {
  const name = 'user namespaces';
  try {
    execFileSync('unshare', ['--user', '--map-root-user', 'true'], { stdio: 'ignore' });
    return { name, verdict: 'ok', finding: 'can be made' };
  } catch {
    const finding = 'cannot be made: sandboxed commands are refused'; // the tool says only that it failed
    const remedy =
      'as root: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000 (and allow them in AppArmor)';
    return { name, verdict: 'warning', finding, remedy };
  }
}

function seccomp(): Check {
  const name = 'seccomp filters';
  const actions = '/proc/sys/kernel/seccomp/actions_avail';
  if (existsSync(actions)) return { name, verdict: 'ok', finding: readFileSync(actions, 'utf8').trim() };
  return {
    name,
    verdict: 'warning',
    finding: 'the kernel has none: network access of sandboxed commands cannot be refused',
    remedy: 'use a kernel built with CONFIG_SECCOMP_FILTER',
  };
}

function cgroups(): Check {
  const name = 'cgroup v2';
  if (existsSync('/sys/fs/cgroup/cgroup.controllers')) return { name, verdict: 'ok', finding: 'mounted' };
  return { name, verdict: 'ok', finding: 'not mounted; not needed' };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not for us
  }
}
