import type { PathUri, Sandbox } from '../../protocol/index.ts';
import { directEngine, type Engine, guardedEngine } from '../engine/index.ts';
import { HelperLaunchers, resolveFilePolicy, type SandboxHost } from '../sandbox/index.ts';
import { SandboxedEngine } from './sandboxed-engine.ts';
import { SandboxedEngines } from './sandboxed-engines.ts';

export interface FileAccessOptions {
  readonly sandboxes: SandboxHost;
  /** The launchers of the whole server, of which one may be waiting; unless given, this file access has its own. */
  readonly launchers?: HelperLaunchers;
}

/** Chooses the engine for a request: in this process, or inside the sandbox, where the kernel enforces the policy. */
export class FileAccess implements AsyncDisposable {
  readonly #sandboxes: SandboxHost;
  readonly #sandboxed: SandboxedEngines;

  constructor({ sandboxes, launchers = new HelperLaunchers(sandboxes) }: FileAccessOptions) {
    this.#sandboxes = sandboxes;
    this.#sandboxed = new SandboxedEngines(launchers);
  }

  engine(sandbox: Sandbox | null | undefined, mode: 'read' | 'write', paths: readonly PathUri[]): Engine {
    if (!sandbox) return directEngine;
    const engine = this.#engine(sandbox, mode, paths);
    if (!(engine instanceof SandboxedEngine) || engine.started) return engine;
    return withFallback(this.#sandboxes, engine, () => this.#engine(sandbox, mode, paths));
  }

  #engine(sandbox: Sandbox, mode: 'read' | 'write', paths: readonly PathUri[]): Engine {
    const policy = resolveFilePolicy(sandbox, { mode, paths, env: this.#sandboxes.environment });
    if (policy.kind === 'direct') return directEngine;
    if (policy.kind === 'directButNotProcfs') return guardedEngine;
    return this.#sandboxed.get(policy);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandboxed[Symbol.asyncDispose]();
  }
}

/** The first helper assumes that bubblewrap works here. If it does not, a trial finds out how it does, for a second helper. */
function withFallback({ bubblewrap }: SandboxHost, first: SandboxedEngine, another: () => Engine): Engine {
  let engine: Engine = first;
  return {
    answersInTurn: first.answersInTurn,
    execute: async (request) => {
      try {
        return await engine.execute(request);
      } catch (error) {
        if (engine !== first || !first.hasNoSandbox) throw error;
        await bubblewrap.triedLater();
        engine = another();
        return await engine.execute(request);
      }
    },
  };
}
