import { spawnSync } from 'node:child_process';
import { isAdministratorsFile } from './administrators-file.ts';
import type { Bubblewrap } from './bubblewrap.ts';
import { type Isolation, isolationArgs } from './isolation.ts';
import { stagePlace } from './stage-place.ts';
import { LONGEST_TRIAL_MS, runTrialProgram } from './trial-program.ts';

/** Tries the first of the paths with a bubblewrap of the administrator. */
export function tryBubblewrap(paths: readonly string[]): Bubblewrap {
  const trials = trialsOf(paths);
  let step = trials.next();
  while (!step.done) step = trials.next(runTrial(step.value));
  return step.value;
}

/** `tryBubblewrap` without blocking the event loop. */
export async function tryBubblewrapLater(paths: readonly string[]): Promise<Bubblewrap> {
  const trials = trialsOf(paths);
  let step = trials.next();
  while (!step.done) step = trials.next(await runTrialLater(step.value));
  return step.value;
}

interface Trial {
  readonly path: string;
  readonly proc: boolean;
}

/** Yields each trial to be run and is given its error text, if it fails. */
function* trialsOf(paths: readonly string[]): Generator<Trial, Bubblewrap, string | undefined> {
  const path = paths.find(isAdministratorsFile);
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

/** Makes a sandbox with every option that commands rely on; the error text if that fails. */
function runTrial({ path, proc }: Trial): string | undefined {
  const { status, stderr, error } = spawnSync(path, trialArgs(proc), {
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LONGEST_TRIAL_MS,
  });
  return status === STAGE_STARTED ? undefined : (error?.message ?? lastLine(String(stderr), status));
}

async function runTrialLater({ path, proc }: Trial): Promise<string | undefined> {
  const { status, stderr } = await runTrialProgram({ argv: [path, ...trialArgs(proc)] });
  return status === STAGE_STARTED ? undefined : lastLine(stderr, status);
}

/** The arguments of a bubblewrap that ends with `STAGE_STARTED` if it can make a sandbox. */
export function trialArgs(proc: boolean, network: Isolation['network'] = 'own'): readonly string[] {
  const view = ['--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev'];
  const mask = ['--perms', '000', '--ro-bind-data', '0', '/dev/mask'];
  const { path, args } = stagePlace({ args: view }, proc);
  return [...view, ...mask, ...isolationArgs({ proc, network, pids: 'own' }), ...args, '--', path];
}

/** What a program says was wrong. */
export const lastLine = (stderr: string, status: number | null): string =>
  stderr.trim().split('\n').at(-1) || `status ${status}`;

/** The exit code of the stage without arguments. */
export const STAGE_STARTED = 2;

const INSTALL_BUBBLEWRAP = 'apt-get install -y bubblewrap';

const ALLOW_NAMESPACES =
  'as root: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000, and allow user namespaces in AppArmor';
