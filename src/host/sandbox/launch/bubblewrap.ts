import { spawnSync } from 'node:child_process';
import { spawn } from '../../os/index.ts';
import { isAdministratorsFile } from './administrators-file.ts';
import { stagePlace } from './stage-place.ts';

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

const INSTALL_BUBBLEWRAP = 'apt-get install -y bubblewrap';

const ALLOW_NAMESPACES =
  'as root: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000, and allow user namespaces in AppArmor';

/**
 * A procfs of its own. The files below these directories belong to uid 0, which a root server's commands have: they could set
 * the kernel's parameters.
 */
const procArgs = (directories: readonly string[]): readonly string[] => [
  ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys'],
  ...directories.flatMap((path) => ['--ro-bind-try', path, path]),
];

export interface Isolation {
  readonly proc: boolean;
  readonly network: 'own' | 'host';
  /** Whose processes are in sight. */
  readonly pids: 'own' | 'host';
  /** What has to be read-only in its procfs, besides the kernel's parameters. */
  readonly procDirectories?: readonly string[];
}

/** The namespaces and the procfs of a sandbox. */
export function isolationArgs({ proc, network, pids, procDirectories = [] }: Isolation): readonly string[] {
  return [
    ...['--unshare-user', '--unshare-ipc'],
    ...(pids === 'own' ? ['--unshare-pid', '--as-pid-1'] : ['--ro-bind', '/proc', '/proc']),
    ...(network === 'own' ? ['--unshare-net'] : []),
    ...(proc && pids === 'own' ? procArgs(procDirectories) : []),
    ...['--cap-drop', 'ALL'],
  ];
}

let pids: Isolation['pids'] = 'own';

/** From now on commands are started in the pid namespace of this process; file helpers keep their own. */
export function inheritPidNamespace(): void {
  pids = 'host';
}

/** Whose processes commands see. */
export const commandPids = (): Isolation['pids'] => pids;

let found: Bubblewrap | undefined;

/** Looked for and tried once in the life of this process. */
export function bubblewrap(): Bubblewrap {
  found ??= examine(PLACES);
  return found;
}

/** What works on almost every machine, for those who can try it out themselves: nothing is run for it. */
export function presumedBubblewrap(): Bubblewrap {
  const path = found ? undefined : PLACES.find(isAdministratorsFile);
  return path === undefined ? bubblewrap() : { usable: true, path, proc: true };
}

/** What was presumed has made a sandbox with every option that commands rely on: nobody has to try it any more. */
export function confirmBubblewrap(): void {
  found ??= presumedBubblewrap();
}

/** Has it tried, letting others work meanwhile. */
export async function tryBubblewrap(): Promise<void> {
  const examination = examining(PLACES);
  let step = examination.next();
  while (!found && !step.done) step = examination.next(await attemptLater(step.value));
  if (step.done) found ??= step.value;
}

/** Looks in places, and tries what is there. */
export function examine(places: readonly string[]): Bubblewrap {
  const examination = examining(places);
  let step = examination.next();
  while (!step.done) step = examination.next(attempt(step.value));
  return step.value;
}

interface Attempt {
  readonly path: string;
  readonly proc: boolean;
}

/** Yields every attempt it wants made and is given the complaint, if any. */
function* examining(places: readonly string[]): Generator<Attempt, Bubblewrap, string | undefined> {
  const path = places.find(isAdministratorsFile);
  if (path === undefined) {
    return { usable: false, reason: 'bubblewrap is not installed', remedy: INSTALL_BUBBLEWRAP };
  }
  const withProc = yield { path, proc: true };
  if (withProc === undefined) return { usable: true, path, proc: true };
  // Containers often forbid to mount a procfs; the host's, read-only, takes its place.
  if (/mount.*proc/i.test(withProc) && (yield { path, proc: false }) === undefined) {
    return { usable: true, path, proc: false };
  }
  return { usable: false, reason: `bubblewrap cannot make a sandbox here (${withProc})`, remedy: ALLOW_NAMESPACES };
}

/** Makes a sandbox with every option that commands rely on; the complaint if that fails. */
function attempt({ path, proc }: Attempt): string | undefined {
  const { status, stderr, error } = spawnSync(path, attemptArgs(proc), {
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LONGEST_ATTEMPT_MS,
  });
  return status === STAGE_STARTED ? undefined : (error?.message ?? complaint(String(stderr), status));
}

async function attemptLater({ path, proc }: Attempt): Promise<string | undefined> {
  const io = { type: 'pipe', stdin: 'closed' } as const;
  await using child = spawn({ argv: [path, ...attemptArgs(proc)], cwd: '/', env: {}, io, mark: 0n });
  const timer = setTimeout(() => void child[Symbol.asyncDispose](), LONGEST_ATTEMPT_MS).unref();
  let stderr = '';
  for await (const event of child.events) {
    if (event.type !== 'output') continue;
    const { buffer, start, end } = event.chunk;
    stderr += Buffer.from(buffer.toString('latin1', start, end), 'base64');
  }
  clearTimeout(timer);
  const status = await child.exited;
  const code = 'code' in status ? status.code : null;
  return code === STAGE_STARTED ? undefined : complaint(stderr, code);
}

function attemptArgs(proc: boolean): readonly string[] {
  const view = ['--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev'];
  const mask = ['--perms', '000', '--ro-bind-data', '0', '/dev/mask'];
  const { path, args } = stagePlace({ args: view }, proc);
  return [...view, ...mask, ...isolationArgs({ proc, network: 'own', pids: 'own' }), ...args, '--', path];
}

const complaint = (stderr: string, status: number | null): string =>
  stderr.trim().split('\n').at(-1) || `status ${status}`;

const LONGEST_ATTEMPT_MS = 10_000;

/** What the stage answers when it is given nothing to do. */
const STAGE_STARTED = 2;
