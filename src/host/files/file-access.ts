import type { PathUri, Sandbox } from '../../protocol/index.ts';
import { nativeFile } from '../os/index.ts';
import { HelperLaunchers, resolveFilePolicy, tryBubblewrap } from '../sandbox/index.ts';
import { directEngine, type FileEngine, guardedEngine } from './file-engine.ts';
import { FileHelper } from './file-helper.ts';
import { FileHelpers } from './file-helpers.ts';

export interface FileAccessOptions {
  /** The environment the server was started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Those of the whole server, where one may be waiting. */
  readonly launchers?: HelperLaunchers;
}

/** Decides where a request is carried out: what its sandbox allows is for the kernel to enforce. */
export class FileAccess implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  readonly #launchers: HelperLaunchers;
  readonly #helpers = new FileHelpers();

  constructor({ env, launchers = new HelperLaunchers() }: FileAccessOptions) {
    this.#env = env;
    this.#launchers = launchers;
  }

  engine(sandbox: Sandbox | null | undefined, mode: 'read' | 'write', paths: readonly PathUri[]): FileEngine {
    if (!sandbox) return directEngine;
    const engine = this.#engine(sandbox, mode, paths);
    if (!(engine instanceof FileHelper) || engine.started) return engine;
    return tryingOut(engine, () => this.#engine(sandbox, mode, paths));
  }

  #engine(sandbox: Sandbox, mode: 'read' | 'write', paths: readonly PathUri[]): FileEngine {
    const policy = resolveFilePolicy(sandbox, { mode, paths, env: this.#env, program: nativeFile('fs-helper') });
    if (policy.kind === 'direct') return directEngine;
    if (policy.kind === 'guardedRead') return guardedEngine;
    return this.#helpers.get(policy.key, () => policy.launch(this.#launchers));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#helpers[Symbol.asyncDispose]();
  }
}

/** The first helper finds out whether sandboxes can be made the usual way; if not, another way is looked for. */
function tryingOut(helper: FileHelper, another: () => FileEngine): FileEngine {
  let engine: FileEngine = helper;
  return {
    execute: async (request) => {
      try {
        return await engine.execute(request);
      } catch (error) {
        if (engine !== helper || !helper.unbuilt) throw error;
        await tryBubblewrap();
        engine = another();
        return await engine.execute(request);
      }
    },
  };
}
