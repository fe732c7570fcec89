import { ExecError } from '../../../protocol/index.ts';
import { type FilterMode, seccompProgram, type WatchedCalls } from '../seccomp/program.ts';
import type { MountPlan } from '../view/plan.ts';
import type { UsableBubblewrap } from './bubblewrap.ts';
import { type Isolation, isolationArgs } from './isolation.ts';

/** The arguments of bubblewrap for a view, without those that mount the first program. */
export function launcherArgs(
  plan: MountPlan,
  { proc }: UsableBubblewrap,
  options: { network: Isolation['network']; pids: Isolation['pids']; filter: number | undefined },
): string[] {
  return [
    ...['--new-session', '--die-with-parent'],
    ...plan.args,
    ...(proc || !bindsRoot(plan) ? [] : READ_ONLY_PROC),
    ...isolationArgs({ proc, network: options.network, pids: options.pids, procDirectories: plan.procDirectories }),
    ...(options.filter === undefined ? [] : ['--seccomp', String(options.filter)]),
  ];
}

/** Covers the machine's procfs in a view of the whole disk where no other can be mounted: root could set the kernel's parameters. */
const READ_ONLY_PROC = ['--ro-bind', '/proc', '/proc'];

const bindsRoot = ({ args }: MountPlan): boolean => args.some((arg, at) => arg === '/' && args[at - 1] === '/');

export function filter(mode: FilterMode, watch?: WatchedCalls): Buffer {
  const program = seccompProgram(mode, { nestedNamespaces: false, watch });
  if (program === undefined) {
    throw new ExecError('internal', `sandboxed commands cannot run: no seccomp table for ${process.arch} machines`);
  }
  return program;
}
