import { Holdings } from '../../../base/index.ts';
import type { Child } from '../../os/index.ts';
import { DenialRecord } from '../denial-record.ts';
import { expandGlobs } from '../policy/glob-scan.ts';
import { isHidden } from '../policy/hidden-path.ts';
import { hasFullRead, type Policy } from '../policy/resolution.ts';
import type { SandboxHost } from '../sandbox-host.ts';
import { canWatch } from '../seccomp/can-watch.ts';
import type { FilterMode } from '../seccomp/program.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import type { MountPlan } from '../view/plan.ts';
import { type Bubblewrap, requireUsable, type UsableBubblewrap } from './bubblewrap.ts';
import { InnerProxies, proxyPorts } from './inner-proxies.ts';
import { filter, launcherArgs } from './launcher.ts';
import { Leash } from './leash.ts';
import { type Command, nullDescriptor, stageProgram, stageRequest, strings } from './stage.ts';
import { stagePlace, USUAL_PLACE } from './stage-place.ts';
import { ARGUMENTS, FIRST_FREE, PROGRAM_SOCKET, WaitingLauncher } from './waiting-launcher.ts';

/** A command as it is to be spawned so that a policy holds. */
export interface Confined {
  readonly command: Command;
  /** What a launcher that waits has to be told; undefined if it would have to know more before it starts. */
  readonly order?: LaunchOrder | undefined;
  /** What ends the sandbox; undefined where there is none of its own. */
  readonly leash?: Leash | undefined;
  /** What its sandbox refuses, where that is watched. */
  readonly record?: DenialRecord | undefined;
  /** Whether the command never runs: the program that is spawned only says why. */
  readonly refused: boolean;
  /** To be called as soon as it is spawned. */
  started(): void;
  /** To be disposed when the process has ended, or could not be started. */
  readonly claim: Disposable;
}

/** The sandbox for a command and the command, for a launcher that knows the rest. */
export interface LaunchOrder {
  readonly launcher: UsableBubblewrap;
  readonly args: Buffer;
  readonly request: Buffer;
  readonly emptyFiles: number;
  /** To be called between the arguments, which the launcher is busy with for a while, and the request, without which nothing runs. */
  keepMountPoints(): void;
}

export interface ConfineOptions {
  /** Variables that name the proxies of a managed network: the command reaches what they let through, and nothing else. */
  readonly managedNetwork?: Readonly<Record<string, string>> | undefined;
  /** Whether refusals are to be recorded. */
  readonly watch?: boolean;
  /** The descriptor of a channel to the process that is to be the supervisor, and is asked about programs as well. */
  readonly supervisor?: number | undefined;
  /** What the patterns of the policy match; looked for here unless given. */
  readonly deniedMatches?: readonly string[] | undefined;
  /** What makes the sandbox; the one of this machine unless said otherwise. */
  readonly launcher?: Bubblewrap;
  /** A descriptor the command inherits besides its standard streams, which the caller keeps open. */
  readonly kept?: number | undefined;
}

/** The descriptors the launcher and the stage find open, besides the arguments. */
const REQUEST = PROGRAM_SOCKET;
const FILTER = FIRST_FREE;
const LEASH = FIRST_FREE + 1;
export const FIRST_EMPTY = FIRST_FREE + 2;
/** Where no launcher is needed. */
const SECOND = REQUEST + 1;

/** Wraps a command so that the policy holds for it and for everything it starts. */
export function confine(host: SandboxHost, command: Command, policy: Policy, options: ConfineOptions = {}): Confined {
  if (policy.unrestricted && !options.managedNetwork) {
    return policy.network === 'enabled' ? unclaimed(command) : filtered(command, 'isolated', options);
  }
  const launcher = requireUsable(options.launcher ?? host.bubblewrap.tried());
  return orRefused(command, () => {
    const { deniedMatches = expandGlobs(policy.deniedGlobs, policy.globDepth) } = options;
    const plan = host.plans.plan(policy, deniedMatches);
    const watch = options.watch === true && launcher.proc && canWatch();
    return launched(command, plan, {
      host,
      policy,
      launcher,
      managedNetwork: options.managedNetwork,
      kept: options.kept,
      watch,
      supervisor: options.supervisor,
    });
  });
}

function orRefused(command: Command, confined: () => Confined): Confined {
  try {
    return confined();
  } catch (error) {
    if (error instanceof UnenforceablePolicy) return refused(command, error.message);
    throw error;
  }
}

interface Launch {
  readonly host: SandboxHost;
  readonly policy: Policy;
  readonly launcher: UsableBubblewrap;
  readonly managedNetwork: ConfineOptions['managedNetwork'];
  readonly kept: number | undefined;
  readonly watch: boolean;
  readonly supervisor: number | undefined;
}

function launched(command: Command, plan: MountPlan, launch: Launch): Confined {
  const { host, policy, launcher, managedNetwork, kept, watch, supervisor } = launch;
  using holdings = new Holdings(); // there may be no descriptor for the next of them
  const proxies = managedNetwork && holdings.hold(new InnerProxies(proxyPorts(managedNetwork)));
  const hostNetwork = policy.network === 'enabled' && !proxies;
  const pids = host.commandPids;
  const place = stagePlace(plan, launcher.proc && pids === 'own');
  const args = strings([
    ...launcherArgs(plan, launcher, {
      network: hostNetwork ? 'host' : 'own',
      pids,
      filter: watch ? undefined : FILTER,
    }),
    ...place.args,
  ]);
  const channel = FIRST_EMPTY + plan.emptyFiles;
  const mode = proxies ? 'proxy' : hostNetwork ? 'base' : 'isolated';
  const isPinned = command.cwdIdentity !== undefined; // a launcher that is started there says what is wrong
  const waitable =
    launcher.proc && mode === 'isolated' && kept === undefined && !watch && !isPinned && place.path === USUAL_PLACE;
  const calls = filter(mode);
  const points = holdings.hold(host.mountPoints().claim(plan.mountPoints));
  const record = watch ? holdings.hold(new DenialRecord((path) => isHidden(policy, path))) : undefined;
  const leash = holdings.hold(new Leash());
  const request = stageRequest(command, {
    mounts: plan.mounts,
    ...(proxies && { listeners: { channel, ports: proxies.ports } }),
    ...(record && {
      watch: {
        facts: channel + (proxies ? 1 : 0),
        program: filter(mode, { files: true, execs: supervisor !== undefined }),
        supervisor,
        ownNetwork: mode === 'proxy',
        partialView: !hasFullRead(policy),
      },
    }),
  });
  return {
    command: {
      ...command,
      argv: [launcher.path, '--args', String(ARGUMENTS), '--', ...firstProcess(place.path, kept)],
      arg0: 'bwrap',
      // The request's variables are set inside: LD_PRELOAD and its kin would act on the launcher.
      env: {},
      deliverSignal: (signal) => leash.signal(signal),
      // Asked for only where no launcher waits: that one has a leash already, and its arguments before the mount points are made.
      get inherit() {
        points.keep();
        return [
          request,
          args,
          calls,
          leash.farEnd,
          ...Array.from({ length: plan.emptyFiles }, nullDescriptor),
          ...(proxies ? [proxies.channel.childEnd] : []),
          ...(record ? [record.farEnd] : []),
        ];
      },
    },
    order: waitable
      ? { launcher, args, request, emptyFiles: plan.emptyFiles, keepMountPoints: () => points.keep() }
      : undefined,
    leash,
    record,
    refused: false,
    started: () => {
      leash.handedOver();
      record?.handedOver();
      void proxies?.open();
    },
    claim: holdings.move(),
  };
}

export interface LeashedLauncher {
  readonly waiting: WaitingLauncher;
  readonly leash: Leash;
}

/** A launcher for commands that are in no network and keep no descriptor, waiting to be ordered to start one. */
export function waitForOrder(launcher: UsableBubblewrap, io: Command['io'], emptyFiles: number): LeashedLauncher {
  return leashed(emptyFiles, (inherit, leash) => {
    const program = firstProcess(USUAL_PLACE);
    const deliverSignal = (signal: number): boolean => leash.signal(signal);
    const waiting = new WaitingLauncher({ launcher, program, io, mark: 0n, inherit, deliverSignal });
    return { waiting, leash, child: waiting.child };
  });
}

/** Another launcher for the order of one that has ended without taking it. */
export function replaceLauncher(waiting: WaitingLauncher, mark: bigint, emptyFiles: number): Child {
  const { child } = leashed(emptyFiles, (inherit, leash) => {
    const child = waiting.spawnAnother({ mark, inherit, deliverSignal: (signal) => leash.signal(signal) });
    leash.holds(mark);
    return { child };
  });
  return child;
}

/** Starts a launcher that inherits what every one does, and a leash, which ends with it. */
function leashed<T extends { readonly child: Child }>(
  emptyFiles: number,
  start: (inherit: readonly (number | Uint8Array)[], leash: Leash) => T,
): T {
  const leash = new Leash();
  try {
    const started = start(
      [filter('isolated'), leash.farEnd, ...Array.from({ length: emptyFiles }, nullDescriptor)],
      leash,
    );
    leash.handedOver();
    void started.child.exited.then(() => leash[Symbol.dispose]());
    return started;
  } catch (error) {
    leash[Symbol.dispose]();
    throw error;
  }
}

/** The stage as the first process of a view. */
const firstProcess = (path: string, kept?: number): readonly string[] => [
  path,
  'init',
  String(LEASH),
  ...requestArguments(kept),
];

/** The command with a filter of system calls, in the namespaces of the host. */
function filtered(command: Command, mode: FilterMode, { kept, watch = false, supervisor }: ConfineOptions): Confined {
  const staged = {
    ...command,
    argv: [stageProgram(), 'run', ...requestArguments(kept)],
    arg0: 'sandbox-stage',
    env: {},
  };
  if (!watch || !canWatch()) {
    const inherit = [stageRequest(command, { filter: SECOND }), filter(mode)];
    return unclaimed({ ...staged, inherit });
  }
  const record = new DenialRecord(() => false, { tellsEnd: supervisor === undefined });
  const program = filter(mode, { files: false, execs: supervisor !== undefined });
  const watched = { facts: SECOND, program, supervisor, ownNetwork: false, partialView: false };
  return {
    ...unclaimed({ ...staged, inherit: [stageRequest(command, { watch: watched }), record.farEnd] }),
    record,
    started: () => record.handedOver(),
    claim: record,
  };
}

const requestArguments = (kept: number | undefined): readonly string[] => [
  String(REQUEST),
  ...(kept === undefined ? [] : [String(kept)]),
];

/** Says why not, the way a command would: on stderr. */
export function refused(command: Command, reason: string): Confined {
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
