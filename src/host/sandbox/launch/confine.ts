import { SyncScope } from '../../../base/index.ts';
import type { Child, Command, NetworkNamespace } from '../../os/index.ts';
import { DenialRecord } from '../denial-record.ts';
import { expandGlobs } from '../policy/glob-scan.ts';
import { isHidden } from '../policy/hidden-path.ts';
import { type AccessPolicy, hasFullRead } from '../policy/resolution.ts';
import type { SandboxHost } from '../sandbox-host.ts';
import { canWatch } from '../seccomp/can-watch.ts';
import { type FilterMode, hasLoopbackOnly } from '../seccomp/program.ts';
import { UnenforceablePolicy } from '../unenforceable-policy.ts';
import type { MountPlan } from '../view/plan.ts';
import { type Bubblewrap, requireUsable, type UsableBubblewrap } from './bubblewrap.ts';
import { ControlSocket } from './control-socket.ts';
import { InnerProxies, proxyPorts } from './inner-proxies.ts';
import { filter, launcherArgs } from './launcher.ts';
import { joining } from './session-network.ts';
import { nullDescriptor, stageProgram, stageRequest, strings } from './stage.ts';
import { stagePlace, USUAL_PLACE } from './stage-place.ts';
import { ARGUMENTS, FIRST_FREE, PROGRAM_SOCKET, WaitingLauncher } from './waiting-launcher.ts';

/** A command as it is to be spawned so that a policy holds. */
export interface Confined {
  readonly command: Command;
  /** The order for a launcher that waits; undefined if the sandbox needs a launcher with other descriptors or namespaces. */
  readonly order?: LaunchOrder | undefined;
  /** Ends the sandbox; undefined for a command in the namespaces of the host. */
  readonly controlSocket?: ControlSocket | undefined;
  /** The ports of its own loopback where proxies of the host listen. */
  readonly proxyPorts?: readonly number[] | undefined;
  /** The refusals of its sandbox, where they are watched. */
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
  /** To be called between sending the arguments and the request, while the launcher is busy making namespaces. */
  prepareMountPoints(): void;
}

export interface ConfineOptions {
  /** Variables that name the proxies of a managed network, through which alone the command reaches the network. */
  readonly managedNetwork?: Readonly<Record<string, string>> | undefined;
  /** The network that the command joins, instead of the one by its policy. */
  readonly sessionNetwork?: NetworkNamespace | undefined;
  /** Whether refusals are to be recorded. */
  readonly watch?: boolean;
  /** The descriptor of a channel to the process that is the supervisor, and is asked about programs as well. */
  readonly supervisor?: number | undefined;
  /** The matches of the patterns of the policy; searched for here unless given. */
  readonly deniedMatches?: readonly string[] | undefined;
  /** The bubblewrap of this machine unless given. */
  readonly launcher?: Bubblewrap;
  /** A descriptor the command inherits besides its standard streams, which the caller keeps open. */
  readonly extraDescriptor?: number | undefined;
}

/** The descriptors the launcher and the stage find open, besides the arguments. */
const REQUEST = PROGRAM_SOCKET;
const FILTER = FIRST_FREE;
const CONTROL = FIRST_FREE + 1;
export const FIRST_EMPTY = FIRST_FREE + 2;
/** Where no launcher is needed. */
const SECOND = REQUEST + 1;

/** Wraps a command so that the policy holds for it and for everything it starts. */
export function confine(
  host: SandboxHost,
  command: Command,
  policy: AccessPolicy,
  options: ConfineOptions = {},
): Confined {
  if (policy.unrestricted && !options.managedNetwork && !options.sessionNetwork) {
    return policy.network === 'enabled' ? withoutClaim(command) : confinedByFilter(command, 'isolated', options);
  }
  const launcher = requireUsable(options.launcher ?? host.bubblewrap.tried());
  return orRefusedCommand(command, () => {
    const { deniedMatches = expandGlobs(policy.deniedGlobs, policy.globDepth) } = options;
    const plan = host.plans.plan(policy, deniedMatches);
    const watch = options.watch === true && launcher.proc && canWatch();
    return confinedByView(command, plan, {
      host,
      policy,
      launcher,
      managedNetwork: options.managedNetwork,
      sessionNetwork: options.sessionNetwork,
      extraDescriptor: options.extraDescriptor,
      watch,
      supervisor: options.supervisor,
    });
  });
}

function orRefusedCommand(command: Command, confined: () => Confined): Confined {
  try {
    return confined();
  } catch (error) {
    if (error instanceof UnenforceablePolicy) return refusedCommand(command, error.message);
    throw error;
  }
}

interface Launch {
  readonly host: SandboxHost;
  readonly policy: AccessPolicy;
  readonly launcher: UsableBubblewrap;
  readonly managedNetwork: ConfineOptions['managedNetwork'];
  readonly sessionNetwork: ConfineOptions['sessionNetwork'];
  readonly extraDescriptor: number | undefined;
  readonly watch: boolean;
  readonly supervisor: number | undefined;
}

function confinedByView(command: Command, plan: MountPlan, launch: Launch): Confined {
  const { host, policy, launcher, managedNetwork, sessionNetwork, extraDescriptor, watch, supervisor } = launch;
  using scope = new SyncScope(); // there may be no descriptor for the next of them
  const proxies = managedNetwork && scope.own(new InnerProxies(proxyPorts(managedNetwork)));
  const mode = proxies ? 'proxy' : sessionNetwork ? 'loopback' : policy.network === 'enabled' ? 'base' : 'isolated';
  const pids = host.commandPids;
  const place = stagePlace(plan, launcher.proc && pids === 'own');
  const args = strings([
    ...launcherArgs(plan, launcher, {
      network: mode === 'base' || mode === 'loopback' ? 'launcher' : 'own',
      pids,
      filter: watch ? undefined : FILTER,
    }),
    ...place.args,
  ]);
  const channel = FIRST_EMPTY + plan.emptyFiles;
  const isPinned = command.cwdIdentity !== undefined; // a launcher that is started in the directory reports a wrong one
  const isRestricted = command.restrictions !== undefined; // from its first moment on
  const waitable =
    launcher.proc &&
    mode === 'isolated' &&
    extraDescriptor === undefined &&
    !watch &&
    !isPinned &&
    !isRestricted &&
    place.path === USUAL_PLACE;
  const calls = filter(mode);
  const points = scope.own(host.mountPoints().claim(plan.mountPoints));
  const record = watch ? scope.own(new DenialRecord((path) => isHidden(policy, path))) : undefined;
  const controlSocket = scope.own(new ControlSocket());
  const reports = channel + (proxies ? 1 : 0);
  const network = reports + (record ? 1 : 0);
  const request = stageRequest(command, {
    mounts: plan.mounts,
    ...(proxies && { listeners: { channel, ports: proxies.ports } }),
    ...(record && {
      watch: {
        reports,
        program: filter(mode, { files: true, execs: supervisor !== undefined }),
        supervisor,
        ownNetwork: hasLoopbackOnly(mode),
        partialView: !hasFullRead(policy),
      },
    }),
  });
  return {
    command: {
      ...command,
      argv: [
        ...(sessionNetwork ? joining(network) : []),
        ...[launcher.path, '--args', String(ARGUMENTS), '--', ...firstProcess(place.path, extraDescriptor)],
      ],
      arg0: 'bwrap',
      // The request's variables are set inside: LD_PRELOAD and its kin would act on the launcher.
      env: {},
      deliverSignal: (signal) => controlSocket.signal(signal),
      // Read only where no launcher waits: that one has a control socket already, and its arguments before the mount points are made.
      get inherit() {
        points.prepare();
        return [
          request,
          args,
          calls,
          controlSocket.farEnd,
          ...Array.from({ length: plan.emptyFiles }, nullDescriptor),
          ...(proxies ? [proxies.channel.childEnd] : []),
          ...(record ? [record.farEnd] : []),
          ...(sessionNetwork ? [sessionNetwork.descriptor] : []),
        ];
      },
    },
    order: waitable
      ? { launcher, args, request, emptyFiles: plan.emptyFiles, prepareMountPoints: () => points.prepare() }
      : undefined,
    controlSocket,
    proxyPorts: proxies?.ports,
    record,
    refused: false,
    started: () => {
      controlSocket.handedOver();
      record?.handedOver();
      void proxies?.open();
    },
    claim: scope.move(),
  };
}

export interface CommandLauncher {
  readonly waiting: WaitingLauncher;
  readonly controlSocket: ControlSocket;
}

/** A launcher that waits for an order to start a command without a network and without an extra descriptor. */
export function waitForOrder(launcher: UsableBubblewrap, io: Command['io'], emptyFiles: number): CommandLauncher {
  return withControlSocket(emptyFiles, (inherit, controlSocket) => {
    const program = firstProcess(USUAL_PLACE);
    const deliverSignal = (signal: number): boolean => controlSocket.signal(signal);
    const waiting = new WaitingLauncher({ launcher, program, io, mark: 0n, inherit, deliverSignal });
    return { waiting, controlSocket, child: waiting.child };
  });
}

/** Another launcher for the order of one that has ended without reading it. */
export function replaceLauncher(waiting: WaitingLauncher, mark: bigint, emptyFiles: number): Child {
  const { child } = withControlSocket(emptyFiles, (inherit, controlSocket) => {
    const child = waiting.spawnAnother({ mark, inherit, deliverSignal: (signal) => controlSocket.signal(signal) });
    controlSocket.rememberFamily(mark);
    return { child };
  });
  return child;
}

/** Starts a launcher that inherits what every one does, and a control socket, which is closed when it ends. */
function withControlSocket<T extends { readonly child: Child }>(
  emptyFiles: number,
  start: (inherit: readonly (number | Uint8Array)[], controlSocket: ControlSocket) => T,
): T {
  const controlSocket = new ControlSocket();
  try {
    const started = start(
      [filter('isolated'), controlSocket.farEnd, ...Array.from({ length: emptyFiles }, nullDescriptor)],
      controlSocket,
    );
    controlSocket.handedOver();
    void started.child.exited.then(() => controlSocket[Symbol.dispose]());
    return started;
  } catch (error) {
    controlSocket[Symbol.dispose]();
    throw error;
  }
}

/** The arguments of the stage as the first process of a view. */
const firstProcess = (path: string, extraDescriptor?: number): readonly string[] => [
  path,
  'init',
  String(CONTROL),
  ...requestArguments(extraDescriptor),
];

/** The command with a filter of system calls, in the namespaces of the host. */
function confinedByFilter(
  command: Command,
  mode: FilterMode,
  { extraDescriptor, watch = false, supervisor }: ConfineOptions,
): Confined {
  const staged = {
    ...command,
    argv: [stageProgram(), 'run', ...requestArguments(extraDescriptor)],
    arg0: 'sandbox-stage',
    env: {},
  };
  if (!watch || !canWatch()) {
    const inherit = [stageRequest(command, { filter: SECOND }), filter(mode)];
    return withoutClaim({ ...staged, inherit });
  }
  const record = new DenialRecord(() => false, { tellsEnd: supervisor === undefined });
  const program = filter(mode, { files: false, execs: supervisor !== undefined });
  const watched = { reports: SECOND, program, supervisor, ownNetwork: false, partialView: false };
  return {
    ...withoutClaim({ ...staged, inherit: [stageRequest(command, { watch: watched }), record.farEnd] }),
    record,
    started: () => record.handedOver(),
    claim: record,
  };
}

const requestArguments = (extraDescriptor: number | undefined): readonly string[] => [
  String(REQUEST),
  ...(extraDescriptor === undefined ? [] : [String(extraDescriptor)]),
];

/** A command that prints the reason on stderr and fails. */
export function refusedCommand(command: Command, reason: string): Confined {
  const inherit = [Buffer.from(`the sandbox cannot be built: ${reason}`)];
  const argv = [stageProgram(), 'refuse', '3'];
  return { ...withoutClaim({ ...command, argv, arg0: 'sandbox-stage', env: {}, inherit }), refused: true };
}

const withoutClaim = (command: Command): Confined => ({
  command,
  refused: false,
  started: () => undefined,
  claim: { [Symbol.dispose]: () => undefined },
});
