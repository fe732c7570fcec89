import { ExecError } from '../../../protocol/index.ts';
import { type FilterMode, seccompProgram, type WatchedCalls } from '../seccomp/program.ts';
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
