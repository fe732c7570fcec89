import { HeadTail, Mutex } from '../../../base/index.ts';
import { showsOnlyDenial } from '../../../host/sandbox/index.ts';
import type { CallContext, ToolContext } from '../call-context.ts';
import { limits } from '../limits.ts';
import { defaultEnvPolicy, environmentOverlay } from '../plan/command-environment.ts';
import type { CommandPlan } from '../plan/command-plan.ts';
import { canPin } from '../plan/directory-identity.ts';
import { pathUri } from '../plan/native-path.ts';
import { isNetworkOff, sandboxFor, withAdditional } from '../plan/permissions.ts';
import { trustedPath, withPath } from '../plan/trusted-path.ts';
import type { CommandItem } from '../report/command-item.ts';
import { outputText } from '../report/output-text.ts';
import { ToolError } from '../report/tool-result.ts';
import { collectOutput } from './collect-output.ts';
import { CommandProcess } from './command-process.ts';
import type { CommandSession } from './command-session.ts';
import { type NetworkJudge, NetworkScope } from './network-scope.ts';

export interface CommandAttemptOptions {
  readonly sessionId: number;
  readonly callId: string;
  readonly sandboxed: boolean;
  /** Rules let the command leave the sandbox. */
  readonly byRule: boolean;
  /** The identity of the directory that the user was asked about. */
  readonly directory: string | undefined;
  readonly yieldMs: number;
  readonly judge: NetworkJudge;
}

/** One run of a command: its start, and the output of the first window. */
export class CommandAttempt implements Disposable {
  readonly #toolContext: ToolContext;
  readonly #plan: CommandPlan;
  readonly #item: CommandItem;
  readonly #request: CommandAttemptOptions;
  readonly scope: NetworkScope | undefined;
  collected = new HeadTail(limits.outputBytes);
  wallTimeMs = 0;
  #process: CommandProcess | undefined;
  #session: CommandSession | undefined;
  #sessionUse: Disposable | undefined;
  #announced = false;
  #endedEarly = false;

  constructor(toolContext: ToolContext, plan: CommandPlan, item: CommandItem, request: CommandAttemptOptions) {
    this.#toolContext = toolContext;
    this.#plan = plan;
    this.#item = item;
    this.#request = request;
    const isManaged = request.sandboxed && plan.settings.network !== undefined;
    this.scope = isManaged ? new NetworkScope(request.judge) : undefined;
  }

  get process(): CommandProcess {
    if (!this.#process) throw new Error('the command has not been started');
    return this.#process;
  }

  /** Whether the sandbox has refused something before the command did anything that a second attempt would repeat. */
  get isDenied(): boolean {
    const { sandboxDenied } = this.process.facts;
    if (!sandboxDenied || !this.process.isOver || !this.#request.sandboxed) return false;
    return this.#endedEarly || showsOnlyDenial(outputText(this.collected).text);
  }

  /** Starts the command and collects its output. Once it outlasts its start, the signal ends only the waiting. */
  async run({ signal }: CallContext): Promise<void> {
    const process = await this.#start(signal);
    await process.untilOver(limits.earlyExitMs);
    this.#endedEarly = process.isOver;
    if (!process.isOver) await this.#openSession(process);
    if (!process.isOver || !process.facts.sandboxDenied) this.announce();
    const window = process.openWindow(this.#request.yieldMs);
    this.collected = await collectOutput(process, window, this.#endedEarly ? undefined : signal);
    this.wallTimeMs = window.elapsedMs;
    if (process.isOver) await this.scope?.settle(limits.networkGraceMs);
  }

  /** Announces the run, once. A command that the sandbox has refused is announced after the question about it. */
  announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#item.announceRun(this.#request.sessionId, this.process);
  }

  /** Ends this attempt because another one follows. */
  giveUp(): void {
    this.#item.forgetRun();
    if (this.#session) this.#session.isSuperseded = true;
    this.#toolContext.sessions.close(this.#request.sessionId);
    void this.#process?.terminate();
  }

  /** Frees the session of a command that is over, and emits its end event unless `EndEvents` does. */
  conclude(): void {
    this.forget();
    if (!this.#session) this.#item.end(this.process);
  }

  /** Frees the session: no call will use the command any more. */
  forget(): void {
    this.#toolContext.sessions.free(this.#request.sessionId, this.#session);
    void this.#process?.terminate();
  }

  /** Lets other calls use the session. */
  [Symbol.dispose](): void {
    this.#sessionUse?.[Symbol.dispose]();
  }

  async #start(signal: AbortSignal | undefined): Promise<CommandProcess> {
    const { backend, argv, cwd, tty, sandboxRequest } = this.#plan;
    const path = this.#trustedPath();
    const settings = withAdditional(this.#plan.settings, sandboxRequest.additionalPermissions);
    const { callId, sandboxed, directory } = this.#request;
    const { threadId, sessionId, version, envPolicy = defaultEnvPolicy } = this.#toolContext;
    const sandbox = sandboxed ? sandboxFor(settings, cwd) : undefined;
    const started = await backend.start(
      {
        processId: `${this.#request.sessionId}-${crypto.randomUUID()}`,
        metadata: { ...(isUuid(threadId) && { threadId }), toolCallId: callId },
        argv: path === undefined ? argv : withPath(argv, path),
        cwd: pathUri(cwd),
        // Directories inside a sandbox have other identities; there the sandbox confines the command wherever it starts.
        ...(directory !== undefined && !sandboxed && canPin(this.#plan) && { cwdIdentity: directory }),
        envPolicy,
        env: {
          ...environmentOverlay({ threadId, sessionId, callId, version }, isNetworkOff(settings)),
          ...(path !== undefined && { PATH: path }),
        },
        tty,
        pipeStdin: false,
        ...(sandbox && { sandbox }),
        ...this.#network(),
      },
      signal,
    );
    this.#process = new CommandProcess(started, { endsWith: backend.isLocal ? 'exit' : 'close' });
    this.scope?.attach(this.#process);
    return this.#process;
  }

  /** The PATH for a command that a rule allows by name: without directories that commands can write programs into. */
  #trustedPath(): string | undefined {
    const { backend, settings } = this.#plan;
    const { variables } = backend;
    if (!this.#request.byRule || !variables) return undefined;
    return trustedPath({ ...variables, PATH: this.#toolContext.envPolicy?.set.PATH ?? variables.PATH }, settings);
  }

  #network(): object {
    const { settings, info, environmentId } = this.#plan;
    if (!this.scope || !settings.network) return {};
    if (info?.capabilities?.networkProxyLaunch !== true) {
      throw new ToolError(`environment \`${environmentId}\` cannot manage the network of commands`);
    }
    return {
      enforceManagedNetwork: true,
      networkProxy: {
        proxy: settings.network,
        environmentId,
        executionId: crypto.randomUUID(),
        policyDecisionTimeoutMs: limits.networkQuestionMs,
      },
      onNetworkRequest: this.scope.answer,
    };
  }

  async #openSession(process: CommandProcess): Promise<void> {
    const { environmentId, argv, cwd, tty, sandboxRequest } = this.#plan;
    const { sessionId: id, callId, sandboxed } = this.#request;
    const mutex = new Mutex();
    this.#sessionUse = await mutex.lock();
    this.#session = {
      id,
      callId,
      process,
      item: this.#item,
      scope: this.scope,
      environmentId,
      argv,
      cwd,
      tty,
      sandboxed,
      confinement: sandboxRequest.confinement,
      mutex,
      isSuperseded: false,
      lastUsed: 0,
    };
    this.#toolContext.sessions.open(this.#session);
    this.#toolContext.endEvents.expect(this.#session);
  }
}

const isUuid = (id: string | undefined): id is string =>
  id !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
