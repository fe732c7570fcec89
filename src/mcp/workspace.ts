import { posix } from 'node:path';
import { type ApprovalPolicy, Cancelled, type CommandRequest, type Orchestrator, Rejected } from '../approval/index.ts';
import { Turnstile } from '../base/index.ts';
import { ExecError, type ExecutorFileSystem, type Sandbox } from '../protocol/index.ts';
import type { ExecBackend, SandboxMode } from '../unified-exec/index.ts';
import { confinementOf, describeMode, sandboxOf } from './sandbox-mode.ts';
import type { CallContext } from './tool.ts';
import type { PermissionArguments } from './tool-arguments.ts';

export interface WorkspaceOptions {
  readonly environmentId: string;
  readonly backend: ExecBackend;
  readonly cwd: string;
  readonly sandbox: SandboxMode;
  readonly policy: ApprovalPolicy;
  readonly orchestrator: Orchestrator;
}

/** What an action on files works with. */
export interface Access {
  readonly files: ExecutorFileSystem;
  readonly sandbox: Sandbox | undefined;
  readonly signal: AbortSignal;
}

interface Action<T> {
  /** Begins the error when it fails. */
  readonly what: string;
  /** The call as a command line, for rules and questions. */
  readonly argv: readonly string[];
  readonly permissions: PermissionArguments;
  run(access: Access): Promise<T>;
  /** Whether the result tells of a refusal by the sandbox. */
  isDenied?(result: T): boolean;
}

type Settled<T> = { readonly result: T } | { readonly failure: ExecError };

/** The files of an environment, as far as its sandbox and its user permit. */
export class Workspace {
  readonly #options: WorkspaceOptions;
  /** Patches are written one at a time. */
  readonly patches = new Turnstile();

  constructor(options: WorkspaceOptions) {
    this.#options = options;
  }

  get cwd(): string {
    return this.#options.cwd;
  }

  /** What may be touched, and how to get more. */
  get permitted(): string {
    const { sandbox, policy, cwd } = this.#options;
    const way =
      policy === 'never'
        ? 'The user cannot be asked for more (--approval never).'
        : 'To ask the user for more, call again with sandbox_permissions "require_escalated" and a justification.';
    return `In the ${sandbox} sandbox ${describeMode(sandbox, cwd)}. ${way}`;
  }

  resolve(path: string): string {
    return posix.resolve(this.cwd, path);
  }

  /** The sandbox decides; nobody is asked unless the call wants more than that. */
  async look<T>(action: Action<T>, context: CallContext): Promise<T> {
    if (action.permissions.sandbox_permissions === 'require_escalated') return this.change(action, context);
    return this.#explained(action, async () => action.run(await this.#access(true, context)));
  }

  /** The rules and the user are heard first, and the user once more when the sandbox refuses. */
  async change<T>(action: Action<T>, context: CallContext): Promise<T> {
    return this.#explained(action, async () => {
      const { value } = await this.#options.orchestrator.run(
        this.#request(action, context),
        async ({ sandboxed }) => attempt(action, await this.#access(sandboxed, context)),
        { signal: context.signal },
      );
      if ('failure' in value) throw value.failure;
      return value.result;
    });
  }

  async #access(sandboxed: boolean, { signal }: CallContext): Promise<Access> {
    const { backend, sandbox, cwd } = this.#options;
    return { files: await backend.fileSystem(), sandbox: sandboxed ? sandboxOf(sandbox, cwd) : undefined, signal };
  }

  #request<T>({ argv, permissions }: Action<T>, { callId }: CallContext): CommandRequest {
    const { environmentId, sandbox, cwd } = this.#options;
    return {
      callId,
      environmentId,
      argv,
      cwd,
      tty: false,
      sandboxPermissions: permissions.sandbox_permissions ?? 'use_default',
      ...(permissions.justification !== undefined && { justification: permissions.justification }),
      confinement: confinementOf(sandbox),
    };
  }

  async #explained<T>({ what }: Action<T>, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const failure = ExecError.from(error);
      const isRefused = error instanceof Rejected || error instanceof Cancelled;
      const hint = !isRefused && isDenial(failure) ? `. ${this.permitted}` : '';
      throw new ExecError(failure.kind, `${what}: ${failure.message}${hint}`);
    }
  }
}

async function attempt<T>(action: Action<T>, access: Access): Promise<{ kind: 'done' | 'denied'; value: Settled<T> }> {
  const value: Settled<T> = await action.run(access).then(
    (result) => ({ result }),
    (error: unknown) => ({ failure: ExecError.from(error) }),
  );
  const isDenied = 'failure' in value ? isDenial(value.failure) : action.isDenied?.(value.result);
  return { kind: access.sandbox && isDenied ? 'denied' : 'done', value };
}

/** What the kernel says to those who want to leave a sandbox, among others. */
export function isDenial({ message }: ExecError): boolean {
  return /Read-only file system|Permission denied|Operation not permitted/i.test(message);
}
