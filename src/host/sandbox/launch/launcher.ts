import { ExecError } from '../../../protocol/index.ts';
import { type FilterMode, seccompProgram, type WatchedCalls } from '../seccomp/program.ts';
import { journalFolder, MountJournal, sweepMountPoints } from '../view/mount-journal.ts';
import { MountPoints } from '../view/mount-points.ts';
import type { MountPlan } from '../view/plan.ts';
import type { UsableBubblewrap } from './bubblewrap.ts';
import { isolationArgs } from './isolation.ts';

/** The arguments of bubblewrap for a view, less what puts the first program there. */
export function launcherArgs(
  plan: MountPlan,
  { proc }: UsableBubblewrap,
  how: { network: 'own' | 'host'; pids: 'own' | 'host'; filter: number | undefined },
): string[] {
  return [
    ...['--new-session', '--die-with-parent'],
    ...plan.args,
    ...(proc || !bindsRoot(plan) ? [] : READ_ONLY_PROC),
    ...isolationArgs({ proc, network: how.network, pids: how.pids, procDirectories: plan.procDirectories }),
    ...(how.filter === undefined ? [] : ['--seccomp', String(how.filter)]),
  ];
}

/** The machine's procfs, which a view of the whole disk has where no other can be mounted; root could set the kernel's parameters. */
const READ_ONLY_PROC = ['--ro-bind', '/proc', '/proc'];

const bindsRoot = ({ args }: MountPlan): boolean => args.some((arg, at) => arg === '/' && args[at - 1] === '/');

export function filter(mode: FilterMode, watch?: WatchedCalls): Buffer {
  const program = seccompProgram(mode, { nestedNamespaces: false, watch });
  if (program === undefined) {
    throw new ExecError('internal', `sandboxed commands cannot run: no seccomp table for ${process.arch} machines`);
  }
  return program;
}

let points: MountPoints | undefined;
let journalFault: (error: unknown) => void = () => {};

/** Chooses who is told why a journal of mount points stays on the disk; to be called before the first sandbox. */
export function reportJournalFaults(report: (error: unknown) => void): void {
  journalFault = report;
}

/** Those of this process; what dead servers left goes when the first are wanted. */
export function mountPoints(): MountPoints {
  if (points) return points;
  const folder = journalFolder();
  sweepMountPoints(folder, journalFault);
  points = new MountPoints(new MountJournal(folder, journalFault));
  return points;
}
