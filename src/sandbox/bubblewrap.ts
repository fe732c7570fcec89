import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { nativeFile } from '../os/index.ts';

/** What this machine offers for sandboxes. */
export type Bubblewrap =
  | {
      readonly usable: true;
      readonly path: string /** Whether a procfs of its own can be mounted. */;
      readonly proc: boolean;
    }
  | { readonly usable: false; readonly reason: string; readonly remedy: string };

/** Never from a PATH: a program that a command could have put there would run outside every sandbox. */
const PLACES = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'];

export const INSTALL_BUBBLEWRAP = 'apt-get install -y bubblewrap';

const ALLOW_NAMESPACES =
  'as root: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000, and allow user namespaces in AppArmor';

const PROC_ARGS: readonly string[] = [
  '--proc',
  '/proc',
  // The files below these belong to uid 0, which a root server's commands have: they could set the kernel's parameters.
  '--ro-bind',
  '/proc/sys',
  '/proc/sys',
  ...['irq', 'bus', 'sysrq-trigger', 'acpi', 'scsi'].flatMap((name) => [
    '--ro-bind-try',
    `/proc/${name}`,
    `/proc/${name}`,
  ]),
];

/** The namespaces and the procfs of a sandbox. */
export function isolationArgs({ proc, network }: { proc: boolean; network: 'own' | 'host' }): readonly string[] {
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc'],
    ...(network === 'own' ? ['--unshare-net'] : []),
    ...(proc ? PROC_ARGS : []),
    ...['--cap-drop', 'ALL'],
  ];
}

let found: Bubblewrap | undefined;

/** Looked for and tried once in the life of this process. */
export function bubblewrap(): Bubblewrap {
  found ??= examine(PLACES);
  return found;
}

/** Looks in places, and tries what is there. */
export function examine(places: readonly string[]): Bubblewrap {
  const path = places.find(isTrustworthy);
  if (path === undefined) {
    return { usable: false, reason: 'bubblewrap is not installed', remedy: INSTALL_BUBBLEWRAP };
  }
  const withProc = attempt(path, true);
  if (withProc === undefined) return { usable: true, path, proc: true };
  // Containers often forbid to mount a procfs; the host's, read-only, takes its place.
  if (/mount.*proc/i.test(withProc) && attempt(path, false) === undefined) return { usable: true, path, proc: false };
  return { usable: false, reason: `bubblewrap cannot make a sandbox here (${withProc})`, remedy: ALLOW_NAMESPACES };
}

/** Nobody but root can have changed it. */
function isTrustworthy(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status?.isFile() === true && status.uid === 0 && (status.mode & 0o022) === 0;
}

/** Makes a sandbox with every option that commands rely on; the complaint if that fails. */
function attempt(path: string, proc: boolean): string | undefined {
  const view = ['--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev'];
  const mask = ['--perms', '000', '--ro-bind-data', '0', '/dev/mask'];
  const command = ['--', nativeFile('sandbox-stage')];
  const args = [...view, ...mask, ...isolationArgs({ proc, network: 'own' }), ...command];
  const { status, stderr, error } = spawnSync(path, args, {
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 10_000,
  });
  if (status === STAGE_STARTED) return undefined;
  return error?.message ?? (String(stderr).trim().split('\n').at(-1) || `status ${status}`);
}

/** What the stage answers when it is given nothing to do. */
const STAGE_STARTED = 2;
