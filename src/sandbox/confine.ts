import { ExecError } from '../protocol/index.ts';
import { type Bubblewrap, bubblewrap, isolationArgs } from './bubblewrap.ts';
import { expandGlobs } from './glob-scan.ts';
import { InnerProxies, proxyPorts } from './inner-proxies.ts';
import { HOST_VIEW, planMounts } from './mount-plan.ts';
import { MountPoints } from './mount-points.ts';
import type { Policy } from './policy.ts';
import { Refusal } from './refusal.ts';
import { type FilterMode, seccompProgram } from './seccomp.ts';
import { type Command, nothing, stageFile, stageProgram, stageRequest, strings } from './stage.ts';

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
  /** What makes the sandbox; the one of this machine unless said otherwise. */
  readonly launcher?: Bubblewrap;
}

/** The descriptors the launcher and the stage find open. */
const STAGE = 3;
const REQUEST = 4;
const FILTER = 5;
const ARGUMENTS = 6;
const FIRST_EMPTY = 7;

const mountPoints = new MountPoints();

/** Wraps a command so that the policy holds for it and for everything it starts. */
export function confine(command: Command, policy: Policy, options: ConfineOptions = {}): Confined {
  if (policy.unrestricted && !options.managedNetwork) {
    return unclaimed(policy.network === 'enabled' ? command : filtered(command, 'isolated'));
  }
  const launcher = usable(options.launcher ?? bubblewrap());
  try {
    const proxies = options.managedNetwork ? new InnerProxies(proxyPorts(command.env)) : undefined;
    return launched(command, policy, launcher, proxies);
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

function launched(command: Command, policy: Policy, launcher: Launcher, proxies: InnerProxies | undefined): Confined {
  const plan = policy.unrestricted
    ? HOST_VIEW
    : planMounts(policy, expandGlobs(policy.deniedGlobs, policy.globDepth), FIRST_EMPTY);
  const hostNetwork = policy.network === 'enabled' && !proxies;
  const args = [
    ...['--new-session', '--die-with-parent'],
    ...plan.args,
    ...isolationArgs({ proc: launcher.proc, network: hostNetwork ? 'host' : 'own' }),
    ...['--seccomp', String(FILTER)],
    ...(launcher.proc ? [] : ['--perms', '555', '--ro-bind-data', String(STAGE), STAGE_WITHOUT_PROC]),
  ];
  const stage = launcher.proc ? `/proc/self/fd/${STAGE}` : STAGE_WITHOUT_PROC;
  const channel = FIRST_EMPTY + plan.emptyFiles;
  const mounted = mountPoints.claim(plan.mountPoints);
  return {
    command: {
      ...command,
      argv: [launcher.path, '--args', String(ARGUMENTS), '--', stage, 'run', String(REQUEST)],
      arg0: 'bwrap',
      // The request's variables are set inside: LD_PRELOAD and its kin would act on the launcher.
      env: {},
      inherit: [
        stageFile(),
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

/** Where the stage lies in views that have no procfs to reach its descriptor by. */
const STAGE_WITHOUT_PROC = '/dev/.exec-server';

/** The command with a filter of system calls, in the namespaces of the host. */
function filtered(command: Command, mode: FilterMode): Command {
  return {
    ...command,
    argv: [stageProgram(), 'run', String(REQUEST)],
    arg0: 'sandbox-stage',
    env: {},
    inherit: [stageFile(), stageRequest(command, { filter: FILTER }), filter(mode)],
  };
}

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
