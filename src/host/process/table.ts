import { faultFields, type Logger } from '../../base/index.ts';
import {
  type ErrorDetails,
  ExecError,
  type Params,
  PathUri,
  type Result,
  SERVER_STOPPING,
} from '../../protocol/index.ts';
import {
  type Child,
  type Command,
  DEFAULT_PATH,
  type NetworkNamespace,
  osErrorText,
  SpawnError,
  spawn,
} from '../os/index.ts';
import type { CommandLaunchers, Confined, SandboxHost } from '../sandbox/index.ts';
import { ClosedRetention, type InputBudget } from '../stream/index.ts';
import type { ProcessAudience } from './audience.ts';
import { ImposedLimits } from './limits/imposed-limits.ts';
import { listEntry } from './list-entry.ts';
import { ManagedProcess } from './managed-process.ts';
import { ProcessNetworks } from './network/process-networks.ts';
import { type SocketHolder, socketHolders } from './network/socket-holders.ts';
import { type ObservedStart, type ProcessObserver, type WantedProcess, wantedProcess } from './observer.ts';
import { explainSearch } from './program-search.ts';
import { ShellSnapshots } from './shell/snapshots.ts';
import { confineStart, findDenied, type ProcessNetwork, resolveStart, type StartGates } from './start-request.ts';

export interface ProcessSettings extends StartGates {
  readonly maxProcessesPerConnection: number;
  readonly retainedOutputBytesPerProcess: number;
}

export interface ProcessTableOptions {
  readonly audience: ProcessAudience;
  /** The environment that policies inherit from. */
  readonly ownEnvironment: Readonly<Record<string, string>>;
  readonly closedProcessMs: number;
  /** Shared with the connections of the session. */
  readonly inputBudget: InputBudget;
  readonly sandboxes: SandboxHost;
  readonly launchers: CommandLaunchers;
  readonly observer: ProcessObserver;
  readonly log: Logger;
  /** The family mark of the next process. */
  readonly nextMark: () => bigint;
  /** The current settings, as a server may reload them. */
  readonly settings: () => ProcessSettings;
}

type StartParams = Params<'process/start'>;

/** What a start needs besides its parameters: above all the results of slow work that is done before. */
export interface Preparations {
  /** Throws when no further process may run. */
  readonly requireRoom?: (() => void) | undefined;
  readonly network?: ProcessNetwork | undefined;
  /** The network of the session, for a command that joins it. */
  readonly sessionNetwork?: NetworkNamespace | undefined;
  /** The command for a shell in the state of a snapshot. */
  readonly restored?: Command | undefined;
  /** The matches of the patterns of its sandbox. */
  readonly deniedMatches?: readonly string[] | undefined;
}

/** A start whose slow work is under way. */
export interface Preparing extends Disposable {
  readonly processId: string;
  /** Whether the process was terminated before it was started: it must not be started any more. */
  isCancelled: boolean;
}

/** The most closed processes that are kept for late readers. */
const MOST_CLOSED = { count: 8192, bytes: 64 * 1024 * 1024 };

/** The processes of one session, by the ids their client chose. */
export class ProcessTable implements AsyncDisposable {
  readonly #options: ProcessTableOptions;
  readonly #processes = new Map<string, ManagedProcess>();
  readonly #shells: ShellSnapshots;
  readonly #repeatable = new Map<string, { startId: string; request: string }>();
  readonly #closed: ClosedRetention<ManagedProcess>;
  #started = false;
  #ending = false;
  /** From the first connection to a process on. */
  #networks: ProcessNetworks | undefined;
  /** Starts whose processes are not started yet. */
  readonly #preparing = new Set<Preparing>();

  constructor(options: ProcessTableOptions) {
    this.#options = options;
    const { sandboxes, observer, log, audience, closedProcessMs } = options;
    this.#closed = new ClosedRetention<ManagedProcess>({
      most: MOST_CLOSED,
      keepMs: closedProcessMs,
      answers: () => audience.answers(),
      forget: ({ processId }) => {
        this.#processes.delete(processId);
        this.#repeatable.delete(processId);
      },
    });
    this.#shells = new ShellSnapshots({ sandboxes, observer, log, mark: () => this.#nextMark() });
  }

  /** The command for a start with a shell snapshot. */
  async restoreShell(params: StartParams, network?: ProcessNetwork): Promise<Command> {
    const request = this.#resolveNew(params, network);
    return this.#shells.restore(params, request, network?.environment);
  }

  /** The matches of the patterns of a start's sandbox, searched for without blocking the event loop. */
  async findDenied(params: StartParams, network?: ProcessNetwork): Promise<readonly string[] | undefined> {
    const request = this.#resolveNew(params, network);
    return params.sandbox ? findDenied(request, params.sandbox) : undefined;
  }

  /** Starts a process, and disposes of its network when it closes. Returns false for a start that was answered before. */
  start(params: StartParams, prepared: Preparations = {}): boolean {
    const { network } = prepared;
    const { processId } = params;
    if (this.#ending) throw new ExecError('invalidRequest', SERVER_STOPPING);
    if (this.#isRepetition(params)) return false;
    const options = this.#options;
    const request = this.#resolveNew(params, network);
    const { maxProcessesPerConnection: most, retainedOutputBytesPerProcess } = options.settings();
    prepared.requireRoom?.();
    if (this.openCount >= most) {
      throw new ExecError('invalidRequest', `at most ${most} processes may run per connection`);
    }
    const { child, observed, confined, mark, limits } = this.#launch(params, request, prepared);
    const process = new ManagedProcess({
      processId,
      argv: request.argv,
      cwd: request.cwd,
      io: request.io,
      isPulled: params.delivery === 'pull',
      mark,
      child,
      confined,
      audience: options.audience,
      retainedOutputBytes: retainedOutputBytesPerProcess,
      limits,
      timeLimit: params.timeoutMs == null ? undefined : { timeoutMs: params.timeoutMs, graceMs: params.graceMs ?? 0 },
      inputBudget: options.inputBudget,
      bytes: options.observer.bytes,
      onExited: (exit) => observed.exited(exit),
      onClosed: () => {
        void network?.[Symbol.asyncDispose]();
        this.#networks?.forget(process);
        this.#closed.add(process);
      },
      onFault: (error) => options.log.error('process.lost', { processId, ...faultFields(error) }),
      ...(confined?.record && {
        onDenialsLost: () => options.log.warn('denials.lost', { processId, reason: 'their supervisor was killed' }),
      }),
    });
    this.#processes.set(processId, process);
    if (params.startId != null)
      this.#repeatable.set(processId, { startId: params.startId, request: requestText(params) });
    return true;
  }

  /** To be disposed when the process has been started, or cannot be. */
  prepare(processId: string): Preparing {
    const preparing: Preparing = {
      processId,
      isCancelled: false,
      [Symbol.dispose]: () => void this.#preparing.delete(preparing),
    };
    this.#preparing.add(preparing);
    return preparing;
  }

  /** Ends a process, or cancels its start. Returns whether it was running. */
  terminate({ processId, mode }: Params<'process/terminate'>): boolean {
    for (const preparing of this.#preparing) preparing.isCancelled ||= preparing.processId === processId;
    return this.get(processId)?.terminate(mode) ?? false;
  }

  /** Whether any process was ever started, including shells for snapshots. */
  get hasStarted(): boolean {
    return this.#started;
  }

  /** How many processes have not closed. */
  get openCount(): number {
    return this.#processes.size - this.#closed.count;
  }

  /** The marks of the processes that have not closed. */
  marks(): readonly bigint[] {
    return [...this.#processes.values()].filter(({ state }) => state.phase !== 'closed').map(({ mark }) => mark);
  }

  /** As in the reference, an id in use is an error before an internal one, and after one about the parameters. */
  #resolveNew(params: StartParams, network?: ProcessNetwork): Command {
    const { processId } = params;
    const { ownEnvironment, settings } = this.#options;
    const isInUse = this.#processes.has(processId) && !this.#isRepetition(params);
    try {
      const request = resolveStart(params, ownEnvironment, settings(), network);
      if (!isInUse) return request;
    } catch (error) {
      if (!isInUse || !(error instanceof ExecError && error.kind === 'internal')) throw error;
    }
    throw new ExecError('invalidRequest', `process ${processId} already exists`);
  }

  get(processId: string): ManagedProcess | undefined {
    return this.#processes.get(processId);
  }

  /** The network of a process, until it has closed; undefined if it is that of this program. */
  async networkOf(processId: string): Promise<NetworkNamespace | undefined> {
    const process = this.get(processId);
    if (!process) throw new ExecError('invalidRequest', `unknown process id ${processId}`);
    this.#networks ??= new ProcessNetworks();
    return await this.#networks.of(process);
  }

  /** Which processes of the session hold sockets, by their inodes. */
  socketHolders(inodes: ReadonlySet<number>): Promise<Map<number, SocketHolder>> {
    const living = [...this.#processes.values()].filter(({ state }) => state.phase !== 'closed');
    return socketHolders(living, inodes);
  }

  list(): Result<'process/list'>['processes'] {
    return [...this.#processes.values()].map(listEntry);
  }

  /**
   * Sends SIGTERM to every running process, and SIGKILL to those that have not closed when the signal aborts. Later starts are
   * refused. Returns whether any process was running.
   */
  async endGracefully(signal: AbortSignal): Promise<boolean> {
    this.#ending = true;
    const running = [...this.#processes.values()].filter(({ state }) => state.phase === 'running');
    await Promise.all(running.map((process) => process.end(signal)));
    return running.length > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending = true;
    using _closed = this.#closed;
    using _networks = this.#networks;
    await Promise.all([...this.#processes.values()].map((process) => process[Symbol.asyncDispose]()));
    this.#processes.clear();
  }

  /** Every start needs a mark, so an ending session cannot start anything, not even a shell whose capture is repeated. */
  #nextMark(): bigint {
    if (this.#ending) throw new ExecError('invalidRequest', 'the session is being ended');
    this.#started = true;
    return this.#options.nextMark();
  }

  /** Imposes limits, makes the sandbox and spawns; or leaves nothing behind. */
  #launch(params: StartParams, request: Command, prepared: Preparations) {
    const { network, sessionNetwork, restored = request, deniedMatches } = prepared;
    const { sandboxes, audience } = this.#options;
    const limits = params.limits ? new ImposedLimits(params.limits) : undefined;
    try {
      const command = limits ? limits.imposedOn(restored) : restored;
      const watch = audience.wantsDenials;
      const confined = params.sandbox
        ? confineStart(sandboxes, command, params.sandbox, params, {
            ...{ deniedMatches, watch, network, sessionNetwork },
          })
        : undefined;
      const mark = this.#nextMark();
      const [child, observed] = this.#spawn(wantedProcess(params, request), command, confined, mark);
      return { child, observed, confined, mark, limits };
    } catch (error) {
      limits?.failed();
      throw error;
    }
  }

  #spawn(
    wanted: WantedProcess,
    command: Command,
    confined: Confined | undefined,
    mark: bigint,
  ): readonly [Child, ObservedStart] {
    const { observer, launchers } = this.#options;
    const beganAt = performance.now();
    let observed: ObservedStart | undefined;
    try {
      observed = observer.starting(wanted);
      const child = confined
        ? orExplain(confined.command, () => launchers.spawn(confined, mark))
        : orExplain(command, () => spawn({ ...command, mark }));
      confined?.started();
      observed.started(child.pid, performance.now() - beganAt);
      return [child, observed];
    } catch (error) {
      confined?.claim[Symbol.dispose]();
      observed?.failed(error);
      throw error;
    }
  }

  /** Whether a start repeats an earlier one: a client that lost the answer sends the same request with the same `startId`. */
  #isRepetition(params: StartParams): boolean {
    const earlier = this.#repeatable.get(params.processId);
    return earlier !== undefined && params.startId === earlier.startId && requestText(params) === earlier.request;
  }

  /** To be called when the client is detached: it can resume the session within `forMs`, and read what it may have missed. */
  detached(forMs: number): void {
    this.#closed.detached(forMs);
  }

  /** To be called when a client is attached again: it has the usual time to read what ended meanwhile. */
  attached(): void {
    this.#closed.attached();
  }
}

function requestText({ startId: _, ...request }: StartParams): string {
  return JSON.stringify(request);
}

/** Spawns, or throws the reference's error. */
function orExplain(command: Command, spawned: () => Child): Child {
  try {
    return spawned();
  } catch (cause) {
    if (!(cause instanceof SpawnError)) throw cause;
    if (cause.step === 'workdir') {
      const text = `the working directory ${command.cwd} is another one than ${command.cwdIdentity} (cwdIdentity)`;
      throw new ExecError('invalidRequest', text, { cause, details: { subject: 'cwd', path: hrefOf(command.cwd) } });
    }
    throw new ExecError('internal', explain(command, cause), { cause, details: detailsOf(command, cause) });
  }
}

function explain(command: Command, error: SpawnError): string {
  const searched = command.io.type === 'pty' && error.step === 'exec' && !command.argv[0]!.startsWith('/');
  return (searched ? explainSearch(command) : undefined) ?? osErrorText(error.errno);
}

/** Details for an error text: the kernel's error is the same for a missing directory and a missing program. */
function detailsOf({ argv, cwd, env }: Command, { code: errno, step }: SpawnError): ErrorDetails {
  if (step === 'chdir') return { errno, subject: 'cwd', path: hrefOf(cwd) };
  if (step !== 'exec') return { errno };
  const program = argv[0]!;
  if (!program.includes('/')) return { errno, subject: 'program', searched: env.PATH ?? DEFAULT_PATH };
  return { errno, subject: 'program', ...(program.startsWith('/') && { path: hrefOf(program) }) };
}

const hrefOf = (path: string | Buffer): string => PathUri.fromNative(path).href;
