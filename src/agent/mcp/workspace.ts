import { posix } from 'node:path';
import { ExecError, type ExecutorFileSystem, type Sandbox } from '../../protocol/index.ts';
import { type ApprovalPolicy, type CommandRequest, type Orchestrator, Rejected } from '../approval/index.ts';
import { confinementOf, type ExecBackend, permissionsOf, type SandboxMode } from '../unified-exec/index.ts';
import { describeMode, sandboxOf } from './sandbox-mode.ts';
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

/** What a look at files works with. */
export interface Access {
  readonly files: ExecutorFileSystem;
  readonly sandbox: Sandbox | undefined;
  readonly signal: AbortSignal;
}

interface Look<T> {
  /** Begins the error when it fails. */
  readonly what: string;
  /** The call as a command line, for rules and questions. */
  readonly argv: readonly string[];
  readonly permissions: PermissionArguments;
  run(access: Access): Promise<T>;
}

/** The files of an environment, as far as its sandbox and its user permit. */
export class Workspace {
  readonly #options: WorkspaceOptions;

  constructor(options: WorkspaceOptions) {
    this.#options = options;
  }

  get cwd(): string {
    return this.#options.cwd;
  }

  /** What may be touched without asking anybody. */
  get permitted(): string {
    const { sandbox, cwd } = this.#options;
    return `In the ${sandbox} sandbox ${describeMode(sandbox, cwd)}.`;
  }

  resolve(path: string): string {
    return posix.resolve(this.cwd, path);
  }

  /** The sandbox decides; the user is asked only if the call wants more than that. */
  async look<T>(look: Look<T>, context: CallContext): Promise<T> {
    const { what, permissions } = look;
    if (permissions.sandbox_permissions === 'require_escalated') {
      return this.explained(what, () => this.#escalate(look, context));
    }
    return this.explained(what, async () => look.run(await this.#access(true, context)), this.#wayOut);
  }

  /** Names what failed, and what is permitted if the user was not the reason. */
  async explained<T>(what: string, work: () => Promise<T>, wayOut = ''): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const failure = ExecError.from(error);
      const isForbidden = error instanceof Rejected ? error.kind === 'policy' : isDenial(failure);
      const hint = isForbidden ? `. ${this.permitted}${wayOut}` : '';
      throw new ExecError(failure.kind, `${what}: ${failure.message}${hint}`);
    }
  }

  get #wayOut(): string {
    return this.#options.policy === 'never'
      ? ' The user cannot be asked for more (--approval never).'
      : ' To ask the user for more, call again with sandbox_permissions "require_escalated" and a justification.';
  }

  async #escalate<T>(look: Look<T>, context: CallContext): Promise<T> {
    const { value } = await this.#options.orchestrator.run(
      this.#request(look, context),
      async ({ sandboxed }) => ({ kind: 'done', value: await look.run(await this.#access(sandboxed, context)) }),
      { signal: context.signal },
    );
    return value;
  }

  async #access(sandboxed: boolean, { signal }: CallContext): Promise<Access> {
    const { backend, sandbox, cwd } = this.#options;
    return { files: await backend.fileSystem(), sandbox: sandboxed ? sandboxOf(sandbox, cwd) : undefined, signal };
  }

  #request<T>({ argv, permissions }: Look<T>, { callId }: CallContext): CommandRequest {
    const { environmentId, sandbox, cwd } = this.#options;
    return {
      callId,
      environmentId,
      argv,
      cwd,
      tty: false,
      sandboxPermissions: permissions.sandbox_permissions ?? 'use_default',
      ...(permissions.justification !== undefined && { justification: permissions.justification }),
      confinement: confinementOf({ permissions: permissionsOf(sandbox) }),
    };
  }
}

/** What the kernel says to those who want to leave a sandbox, among others. */
export function isDenial({ message }: ExecError): boolean {
  return /Read-only file system|Permission denied|Operation not permitted/i.test(message);
}
