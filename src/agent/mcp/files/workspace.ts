import { posix } from 'node:path';
import { ExecError, type ExecutorFileSystem, type Sandbox } from '../../../protocol/index.ts';
import { type ApprovalPolicy, type CommandRequest, type Orchestrator, Rejected } from '../../approval/index.ts';
import {
  confinementOf,
  type ExecBackend,
  permissionsOf,
  type SandboxMode,
  sandboxFor,
} from '../../unified-exec/index.ts';
import type { ToolCall } from '../tool.ts';
import type { PermissionArguments } from './arguments.ts';

export interface WorkspaceOptions {
  readonly environmentId: string;
  readonly backend: ExecBackend;
  readonly cwd: string;
  readonly sandbox: SandboxMode;
  readonly policy: ApprovalPolicy;
  readonly orchestrator: Orchestrator;
}

/** The files, and the options to read them with. */
export interface ReadAccess {
  readonly files: ExecutorFileSystem;
  readonly sandbox: Sandbox | undefined;
  readonly signal: AbortSignal;
}

interface ReadRequest<T> {
  /** The beginning of the error message. */
  readonly failure: string;
  /** The call as a command line, for rules and questions. */
  readonly argv: readonly string[];
  readonly permissions: PermissionArguments;
  run(access: ReadAccess): Promise<T>;
}

/** The files of an environment, as far as the sandbox and the user permit. */
export class Workspace {
  readonly #options: WorkspaceOptions;

  constructor(options: WorkspaceOptions) {
    this.#options = options;
  }

  get cwd(): string {
    return this.#options.cwd;
  }

  /** Tells the model what is permitted without a question. */
  get permitted(): string {
    const { sandbox, cwd } = this.#options;
    return `In the ${sandbox} sandbox ${describeMode(sandbox, cwd)}.`;
  }

  resolve(path: string): string {
    return posix.resolve(this.cwd, path);
  }

  /** Reads in the sandbox; asks the user only if the call wants to leave it. */
  async read<T>(request: ReadRequest<T>, call: ToolCall): Promise<T> {
    const { failure, permissions } = request;
    if (permissions.sandbox_permissions === 'require_escalated') {
      return this.explained(failure, () => this.#escalate(request, call));
    }
    return this.explained(failure, async () => request.run(await this.#access(true, call)), this.#remedy);
  }

  /** Runs the work; an error begins with `failure`, and tells what is permitted unless the user has refused. */
  async explained<T>(failure: string, work: () => Promise<T>, remedy = ''): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const cause = ExecError.from(error);
      const isForbidden = error instanceof Rejected ? error.kind === 'policy' : isDenial(cause);
      const hint = isForbidden ? `. ${this.permitted}${remedy}` : '';
      throw new ExecError(cause.kind, `${failure}: ${cause.message}${hint}`);
    }
  }

  get #remedy(): string {
    return this.#options.policy === 'never'
      ? ' The user cannot be asked for more (--approval never).'
      : ' To ask the user for more, call again with sandbox_permissions "require_escalated" and a justification.';
  }

  async #escalate<T>(request: ReadRequest<T>, call: ToolCall): Promise<T> {
    const { value } = await this.#options.orchestrator.run(
      this.#commandRequest(request, call),
      async ({ sandboxed }) => ({ kind: 'done', value: await request.run(await this.#access(sandboxed, call)) }),
      { signal: call.signal },
    );
    return value;
  }

  async #access(sandboxed: boolean, { signal }: ToolCall): Promise<ReadAccess> {
    const { backend, sandbox: mode, cwd } = this.#options;
    const sandbox = sandboxed ? sandboxFor({ permissions: permissionsOf(mode) }, cwd) : undefined;
    return { files: await backend.fileSystem(), sandbox, signal };
  }

  #commandRequest<T>({ argv, permissions }: ReadRequest<T>, { callId }: ToolCall): CommandRequest {
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

/** Whether an error has the kernel's message for a refusal, which a sandbox causes but also ordinary permissions. */
export function isDenial({ message }: ExecError): boolean {
  return /Read-only file system|Permission denied|Operation not permitted/i.test(message);
}

/** What a sandbox mode permits, in words. */
function describeMode(mode: SandboxMode, cwd: string): string {
  switch (mode) {
    case 'read-only':
      return 'everything may be read and nothing written';
    case 'workspace-write':
      return `everything may be read, and files below ${cwd} and the temporary directories may be written`;
    case 'danger-full-access':
      return 'nothing is restricted';
  }
}
