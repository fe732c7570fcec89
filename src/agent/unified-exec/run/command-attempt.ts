import { HeadTail, Turnstile } from '../../../base/index.ts';
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
import { endItem } from './session-end.ts';

export interface AttemptRequest {
  readonly sessionId: number;
  readonly callId: string;
  readonly sandboxed: boolean;
  /** Rules let it leave the sandbox. */
  readonly byRule: boolean;
  /** The directory the user was asked about. */
  readonly directory: string | undefined;
  readonly yieldMs: number;
  readonly judge: NetworkJudge;
}

/** One start of a command, and the first window of watching it. */
export class CommandAttempt implements Disposable {
  readonly #toolContext: ToolContext;
  readonly #plan: CommandPlan;
  readonly #item: CommandItem;
  readonly #request: AttemptRequest;
  readonly scope: NetworkScope | undefined;
  collected = new HeadTail(limits.outputBytes);
  wallTimeMs = 0;
  #process: CommandProcess | undefined;
  #session: CommandSession | undefined;
  #turn: Disposable | undefined;
  #announced = false;
  #endedEarly = false;

  constructor(toolContext: ToolContext, plan: CommandPlan, item: CommandItem, request: AttemptRequest) {
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

  /** The sandbox refused something, and running the command again would not repeat anything else it did. */
  get isDenied(): boolean {
    const { sandboxDenied } = this.process.facts;
    if (!sandboxDenied || !this.process.isOver || !this.#request.sandboxed) return false;
    return this.#endedEarly || showsOnlyDenial(outputText(this.collected).text);
  }

  /** From the moment the command runs on its own, giving up means to stop watching it. */
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

  /** Tells that the command runs. A refused one waits for what becomes of it. */
  announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#item.runs(this.#request.sessionId, this.process);
  }

  /** Another attempt takes the place of this one. */
  giveUp(): void {
    this.#item.stops();
    if (this.#session) this.#session.isSuperseded = true;
    this.#toolContext.sessions.close(this.#request.sessionId);
    void this.#process?.terminate();
  }

  /** The command is over: forgets it, and ends its item unless the watcher of the session does. */
  conclude(): void {
    this.forget();
    if (!this.#session) this.#item.over(this.process);
  }

  /** No call will use this command any more. */
  forget(): void {
    this.#toolContext.sessions.free(this.#request.sessionId, this.#session);
    void this.#process?.terminate();
  }

  /** Lets other calls deal with the session. */
  [Symbol.dispose](): void {
    this.#turn?.[Symbol.dispose]();
  }

  async #start(signal: AbortSignal | undefined): Promise<CommandProcess> {
    const { backend, argv, cwd, tty, wishes } = this.#plan;
    const path = this.#trustedPath();
    const settings = withAdditional(this.#plan.settings, wishes.additionalPermissions);
    const { callId, sandboxed, directory } = this.#request;
    const { threadId, sessionId, version, envPolicy = defaultEnvPolicy } = this.#toolContext;
    const sandbox = sandboxed ? sandboxFor(settings, cwd) : undefined;
    const started = await backend.start(
      {
        processId: `${this.#request.sessionId}-${crypto.randomUUID()}`,
        metadata: { ...(isUuid(threadId) && { threadId }), toolCallId: callId },
        argv: path === undefined ? argv : withPath(argv, path),
        cwd: pathUri(cwd),
        // The view of a sandbox has directories that are none of the host's; there the sandbox holds what is inside.
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
    this.scope?.covers(this.#process);
    return this.#process;
  }

  /** A rule for a name speaks for no program that commands can put where the name is looked up. */
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
        policyDecisionTimeoutMs: QUESTION_MS,
      },
      onNetworkRequest: this.scope.answer,
    };
  }

  async #openSession(process: CommandProcess): Promise<void> {
    const { environmentId, argv, cwd, tty, wishes } = this.#plan;
    const { sessionId: id, callId, sandboxed } = this.#request;
    const turnstile = new Turnstile();
    this.#turn = await turnstile.enter();
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
      confinement: wishes.confinement,
      turnstile,
      isSuperseded: false,
      lastUsed: 0,
    };
    this.#toolContext.sessions.open(this.#session);
    this.#toolContext.endings.add(endItem(this.#session));
  }
}

const isUuid = (id: string | undefined): id is string =>
  id !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);

/** A person has to read a question and answer it. */
const QUESTION_MS = 10 * 60 * 1000;
