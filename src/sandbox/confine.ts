import { ExecError } from '../protocol/index.ts';
import { type Bubblewrap, bubblewrap, isolationArgs, presumedBubblewrap } from './bubblewrap.ts';
import { expandGlobs } from './glob-scan.ts';
import { InnerProxies, proxyPorts } from './inner-proxies.ts';
import { journalFolder, MountJournal, sweepMountPoints } from './mount-journal.ts';
import { HOST_VIEW, type MountPlan, planMounts } from './mount-plan.ts';
import { MountPoints } from './mount-points.ts';
import type { Policy } from './policy.ts';
import { Refusal } from './refusal.ts';
import { type FilterMode, seccompProgram } from './seccomp.ts';
import { type Command, nothing, stageBytes, stageFile, stageProgram, stageRequest, strings } from './stage.ts';
import type { Survey } from './survey.ts';

/** A command as it is to be spawned so that a policy holds. */
export interface Confined {
  readonly command: Command;
  /** Whether the command never runs: what is spawned only says why. */
  readonly refused: boolean;
  /** To be called as soon as it is spawned. */
  started(): void;
  /** To be disposed when the process has ended, or could not be started. */
  readonly claim: Disposable;
}

export interface ConfineOptions {
  /** Whether the network is what the proxies named in the command's environment let through, and nothing else. */
  readonly managedNetwork?: boolean;
  /** What the patterns of the policy match; looked for here unless given. */
  readonly deniedMatches?: readonly string[] | undefined;
  /** What makes the sandbox; the one of this machine unless said otherwise. */
  readonly launcher?: Bubblewrap;
  /** A descriptor the command inherits besides its standard streams; whoever spawns it sees to its being open. */
  readonly kept?: number | undefined;
}

/** The descriptors the launcher and the stage find open. */
const STAGE = 3;
const REQUEST = 4;
const FILTER = 5;
const ARGUMENTS = 6;
const FIRST_EMPTY = 7;

let points: MountPoints | undefined;

/** Those of this process; what dead servers left goes when the first are wanted. */
function mountPoints(): MountPoints {
  if (points) return points;
  const folder = journalFolder();
  sweepMountPoints(folder);
  points = new MountPoints(new MountJournal(folder));
  return points;
}

/** Does now what the first sandbox would need first, as far as no process is run for it. */
export function prepareSandboxes(): void {
  mountPoints();
  filter('isolated');
}

/** Wraps a command so that the policy holds for it and for everything it starts. */
export function confine(command: Command, policy: Policy, options: ConfineOptions = {}): Confined {
  if (policy.unrestricted && !options.managedNetwork) {
    return unclaimed(policy.network === 'enabled' ? command : filtered(command, 'isolated', options.kept));
  }
  const launcher = usable(options.launcher ?? bubblewrap());
  return orRefused(command, () => {
    const { deniedMatches = expandGlobs(policy.deniedGlobs, policy.globDepth) } = options;
    const plan = planned(policy, deniedMatches);
    const proxies = options.managedNetwork ? new InnerProxies(proxyPorts(command.env)) : undefined;
    return launched(command, plan, { policy, launcher, proxies, kept: options.kept });
  });
}

/**
 * A program of ours in a sandbox, with a descriptor of this process as its only argument. It needs no stage: it has no
 * use for an environment or a directory, and closes by itself what it inherits.
 */
export function confineHelper({ program, descriptor, policy, survey }: HelperLaunch): Confined {
  const launcher = usable(presumedBubblewrap());
  const command: Command = { argv: [program], cwd: '/', env: {}, io: { type: 'pipe', stdin: 'open' } };
  return orRefused(command, () => {
    const plan = planMounts(policy, expandGlobs(policy.deniedGlobs, policy.globDepth), FIRST_EMPTY_OF_HELPER, survey);
    const args = launcherArgs(plan, launcher, { network: 'own', filter: FILTER_OF_HELPER });
    args.push('--as-pid-1'); // it starts no processes that somebody would have to reap
    const channel = FIRST_EMPTY_OF_HELPER + plan.emptyFiles;
    return {
      ...unclaimed({
        ...command,
        argv: [launcher.path, '--args', String(ARGUMENTS_OF_HELPER), '--', program, String(channel)],
        arg0: 'bwrap',
        inherit: [filter('isolated'), strings(args), ...Array.from({ length: plan.emptyFiles }, nothing), descriptor],
      }),
      claim: mountPoints().claim(plan.mountPoints),
    };
  });
}

interface HelperLaunch {
  readonly program: string;
  readonly descriptor: number;
  readonly policy: Policy;
  /** What the disk is known to be like at this moment. */
  readonly survey: Survey;
}

/** The descriptors the launcher of a helper finds open. */
const FILTER_OF_HELPER = 3;
const ARGUMENTS_OF_HELPER = 4;
const FIRST_EMPTY_OF_HELPER = 5;

function orRefused(command: Command, confined: () => Confined): Confined {
  try {
    return confined();
  } catch (error) {
    if (error instanceof Refusal) return refused(command, error.message);
    throw error;
  }
}

type Launcher = Bubblewrap & { usable: true };

function usable(launcher: Bubblewrap): Launcher {
  if (launcher.usable) return launcher;
  const { reason, remedy } = launcher;
  throw new ExecError('internal', `sandboxed commands cannot run: ${reason}; to mend it: ${remedy}`);
}

function planned(policy: Policy, deniedMatches: readonly string[]): MountPlan {
  return policy.unrestricted ? HOST_VIEW : planMounts(policy, deniedMatches, FIRST_EMPTY);
}

interface Launch {
  readonly policy: Policy;
  readonly launcher: Launcher;
  readonly proxies: InnerProxies | undefined;
  readonly kept: number | undefined;
}

function launched(command: Command, plan: MountPlan, { policy, launcher, proxies, kept }: Launch): Confined {
  const hostNetwork = policy.network === 'enabled' && !proxies;
  const args = [
    ...launcherArgs(plan, launcher, { network: hostNetwork ? 'host' : 'own', filter: FILTER }),
    ...(launcher.proc ? [] : ['--perms', '555', '--ro-bind-data', String(STAGE), STAGE_WITHOUT_PROC]),
  ];
  const stage = launcher.proc ? `/proc/self/fd/${STAGE}` : STAGE_WITHOUT_PROC;
  const channel = FIRST_EMPTY + plan.emptyFiles;
  const mounted = mountPoints().claim(plan.mountPoints);
  return {
    command: {
      ...command,
      argv: [launcher.path, '--args', String(ARGUMENTS), '--', stage, ...stageArguments(kept)],
      arg0: 'bwrap',
      // The request's variables are set inside: LD_PRELOAD and its kin would act on the launcher.
      env: {},
      inherit: [
        launcher.proc ? stageFile() : stageBytes(), // what is copied into the view is read to its end
        stageRequest(command, proxies && { listeners: { channel, ports: proxies.ports } }),
        filter(proxies ? 'proxy' : hostNetwork ? 'base' : 'isolated'),
        strings(args),
        ...Array.from({ length: plan.emptyFiles }, nothing),
        ...(proxies ? [proxies.channel.childEnd] : []),
      ],
    },
    refused: false,
    started: () => void proxies?.open(),
    claim: {
      [Symbol.dispose]: () => {
        mounted[Symbol.dispose]();
        proxies?.[Symbol.dispose]();
      },
    },
  };
}

function launcherArgs(plan: MountPlan, { proc }: Launcher, how: { network: 'own' | 'host'; filter: number }): string[] {
  // The list is told apart by NUL, and a file may lead to a path that nobody has looked at.
  if (plan.args.some((arg) => arg.includes('\0'))) throw new Refusal('a path of its view holds a NUL');
  return [
    ...['--new-session', '--die-with-parent'],
    ...plan.args,
    ...isolationArgs({ proc, network: how.network }),
    ...['--seccomp', String(how.filter)],
  ];
}

/** Where the stage lies in views that have no procfs to reach its descriptor by. */
const STAGE_WITHOUT_PROC = '/dev/.exec-server';

/** The command with a filter of system calls, in the namespaces of the host. */
function filtered(command: Command, mode: FilterMode, kept: number | undefined): Command {
  return {
    ...command,
    argv: [stageProgram(), ...stageArguments(kept)],
    arg0: 'sandbox-stage',
    env: {},
    inherit: [stageFile(), stageRequest(command, { filter: FILTER }), filter(mode)],
  };
}

const stageArguments = (kept: number | undefined): readonly string[] => [
  'run',
  String(REQUEST),
  ...(kept === undefined ? [] : [String(kept)]),
];

/** Says why not, the way a command would: on stderr. */
function refused(command: Command, reason: string): Confined {
  const inherit = [Buffer.from(`the sandbox cannot be built: ${reason}`)];
  const argv = [stageProgram(), 'refuse', '3'];
  return { ...unclaimed({ ...command, argv, arg0: 'sandbox-stage', env: {}, inherit }), refused: true };
}

const unclaimed = (command: Command): Confined => ({
  command,
  refused: false,
  started: () => undefined,
  claim: { [Symbol.dispose]: () => undefined },
});

function filter(mode: FilterMode): Buffer {
  const program = seccompProgram(mode, { nestedNamespaces: false });
  if (program === undefined) {
    throw new ExecError('internal', `sandboxed commands cannot run: no seccomp table for ${process.arch} machines`);
  }
  return program;
}
