import { openSync } from 'node:fs';
import { candidates, nativeFile, type SpawnOptions } from '../os/index.ts';
import { ExecError } from '../protocol/index.ts';
import { type Bubblewrap, bubblewrap, isolationArgs } from './bubblewrap.ts';
import { expandGlobs } from './glob-scan.ts';
import { planMounts } from './mount-plan.ts';
import { MountPoints } from './mount-points.ts';
import type { Policy } from './policy.ts';
import { Refusal } from './refusal.ts';
import { type FilterMode, seccompProgram } from './seccomp.ts';

type Command = Omit<SpawnOptions, 'mark'>;

/** A command as it is to be spawned so that a policy holds. */
export interface Confined {
  readonly command: Command;
  /** Whether the command runs at all; a refused one only says why. */
  readonly refused: boolean;
  /** To be disposed when the process has ended, or could not be started. */
  readonly claim: Disposable;
}

/** The descriptors the launcher and the stage find open. */
const STAGE = 3;
const REQUEST = 4;
const FILTER = 5;
const ARGUMENTS = 6;
const FIRST_EMPTY = 7;

const mountPoints = new MountPoints();

/** Wraps a command so that the policy holds for it and for everything it starts. */
export function confine(command: Command, policy: Policy): Confined {
  if (policy.unrestricted) {
    return unclaimed(policy.network === 'enabled' ? command : filtered(command, 'isolated'));
  }
  const launcher = usable(bubblewrap());
  try {
    return launched(command, policy, launcher);
  } catch (error) {
    if (error instanceof Refusal) return refused(command, error.message);
    throw error;
  }
}

function usable(launcher: Bubblewrap): Bubblewrap & { usable: true } {
  if (launcher.usable) return launcher;
  const { reason, remedy } = launcher;
  throw new ExecError('internal', `sandboxed commands cannot run: ${reason}; to mend it: ${remedy}`);
}

function launched(command: Command, policy: Policy, launcher: Bubblewrap & { usable: true }): Confined {
  const mode = policy.network === 'enabled' ? 'base' : 'isolated';
  const plan = planMounts(policy, expandGlobs(policy.deniedGlobs, policy.globDepth), FIRST_EMPTY);
  const args = [
    ...['--new-session', '--die-with-parent'],
    ...plan.args,
    ...isolationArgs({ proc: launcher.proc, network: policy.network === 'enabled' ? 'host' : 'own' }),
    ...['--seccomp', String(FILTER)],
    ...(launcher.proc ? [] : ['--perms', '555', '--ro-bind-data', String(STAGE), STAGE_WITHOUT_PROC]),
  ];
  const stage = launcher.proc ? `/proc/self/fd/${STAGE}` : STAGE_WITHOUT_PROC;
  return {
    command: {
      ...command,
      argv: [launcher.path, '--args', String(ARGUMENTS), '--', stage, 'run', String(REQUEST)],
      arg0: 'bwrap',
      // The request's variables are set inside: LD_PRELOAD and its kin would act on the launcher.
      env: {},
      inherit: [
        stageFile(),
        stageRequest(command, -1),
        filter(mode),
        strings(args),
        ...Array.from({ length: plan.emptyFiles }, nothing),
      ],
    },
    refused: false,
    claim: mountPoints.claim(plan.mountPoints),
  };
}

/** Where the stage lies in views that have no procfs to reach its descriptor by. */
const STAGE_WITHOUT_PROC = '/dev/.exec-server';

/** The command with a filter of system calls, in the namespaces of the host. */
function filtered(command: Command, mode: FilterMode): Command {
  return {
    ...command,
    argv: [nativeFile('sandbox-stage'), 'run', String(REQUEST)],
    arg0: 'sandbox-stage',
    env: {},
    inherit: [stageFile(), stageRequest(command, FILTER), filter(mode)],
  };
}

/** Says why not, the way a command would: on stderr. */
function refused(command: Command, reason: string): Confined {
  const inherit = [Buffer.from(`the sandbox cannot be built: ${reason}`)];
  const argv = [nativeFile('sandbox-stage'), 'refuse', '3'];
  return { ...unclaimed({ ...command, argv, arg0: 'sandbox-stage', env: {}, inherit }), refused: true };
}

const unclaimed = (command: Command): Confined => ({
  command,
  refused: false,
  claim: { [Symbol.dispose]: () => undefined },
});

function filter(mode: FilterMode): Buffer {
  const program = seccompProgram(mode, { nestedNamespaces: false });
  if (program === undefined) {
    throw new ExecError('internal', `sandboxed commands cannot run: no seccomp table for ${process.arch} machines`);
  }
  return program;
}

/** What native/sandbox-stage.c reads. */
function stageRequest({ argv, arg0, cwd, env }: Command, filterDescriptor: number): Buffer {
  const program = argv[0] ?? '';
  const files = candidates(program, env.PATH);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return Buffer.concat([
    strings([String(filterDescriptor)]),
    typeof cwd === 'string' ? strings([cwd]) : Buffer.concat([cwd, Buffer.alloc(1)]),
    strings([String(files.length), ...files, String(argv.length), arg0 ?? program, ...argv.slice(1), ...variables]),
  ]);
}

const strings = (list: readonly string[]): Buffer => Buffer.from(list.map((text) => `${text}\0`).join(''));

let stageDescriptor: number | undefined;
let nullDescriptor: number | undefined;

function stageFile(): number {
  stageDescriptor ??= openSync(nativeFile('sandbox-stage'), 'r');
  return stageDescriptor;
}

/** Something open that has nothing to read. */
function nothing(): number {
  nullDescriptor ??= openSync('/dev/null', 'r');
  return nullDescriptor;
}
