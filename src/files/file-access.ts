import type { Sandbox } from '../protocol/index.ts';
import { resolveFilePolicy } from '../sandbox/index.ts';
import { directEngine, type FileEngine, guardedEngine } from './file-engine.ts';
import { FileHelpers } from './file-helpers.ts';

/** Decides where a request is carried out: what its sandbox allows is for the kernel to enforce. */
export class FileAccess implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  readonly #helpers = new FileHelpers();

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  engine(sandbox: Sandbox | null | undefined, mode: 'read' | 'write'): FileEngine {
    if (!sandbox) return directEngine;
    const policy = resolveFilePolicy(sandbox, { mode, env: this.#env });
    if (policy.kind === 'direct') return directEngine;
    if (policy.kind === 'guardedRead') return guardedEngine;
    return this.#helpers.get(policy.key, policy.launch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#helpers[Symbol.asyncDispose]();
  }
}
