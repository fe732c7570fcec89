import { ExecError, type PathUri, type Sandbox } from '../../protocol/index.ts';
import { nativeFile, pathBytes } from '../os/index.ts';
import { type HelperLaunchers, readablePaths, resolveFilePolicy, type SandboxHost } from '../sandbox/index.ts';
import { watchError } from './failure.ts';
import { WATCH_ID_BYTES, WATCHES_PER_SESSION } from './limits.ts';
import { ShownChanges, textOf } from './shown-changes.ts';
import { Watch, type WatchAudience } from './watch.ts';
import { type WatchBegin, WatchProcess, WatchProcessEnded } from './watch-process.ts';

export interface WatchesOptions {
  readonly sandboxes: SandboxHost;
  readonly launchers: HelperLaunchers;
  readonly audience: WatchAudience;
}

export interface WatchParams {
  readonly watchId: string;
  readonly path: PathUri;
  readonly recursive: boolean;
  readonly sandbox: Sandbox | null | undefined;
}

interface Entry {
  readonly params: WatchParams;
  readonly begun: Promise<Watch | undefined>;
}

/** The watches of a session. They outlive its connections. */
export class Watches implements AsyncDisposable {
  readonly #options: WatchesOptions;
  readonly #entries = new Map<string, Entry>();
  #isAttached = true;
  #isDisposed = false;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  /** Whether changes will be told. To ask for the same once more changes nothing: the first answer may have been lost. */
  async open(params: WatchParams): Promise<boolean> {
    const { watchId, path, recursive } = params;
    checkWatchId(watchId);
    const known = this.#entries.get(watchId);
    if (known && (known.params.path.href !== path.href || known.params.recursive !== recursive)) {
      throw new ExecError('invalidRequest', `watch \`${watchId}\` already exists`);
    }
    const { begun } = known ?? this.#add(params);
    return (await begun) !== undefined;
  }

  /** Does nothing for an unknown watch. */
  async close(watchId: string): Promise<void> {
    const entry = this.#entries.get(watchId);
    this.#entries.delete(watchId);
    const watch = await entry?.begun.catch(() => undefined); // never begun
    await watch?.[Symbol.asyncDispose]();
  }

  /** The client is there again, and takes notifications. */
  attached(): void {
    this.#isAttached = true;
    this.#forEach((watch) => watch.attached());
  }

  detached(): void {
    this.#isAttached = false;
    this.#forEach((watch) => watch.detached());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await Promise.all([...this.#entries.keys()].map((watchId) => this.close(watchId)));
  }

  #forEach(task: (watch: Watch) => void): void {
    for (const { begun } of this.#entries.values()) {
      void begun.then((watch) => watch && task(watch)).catch(() => {}); // the request that began it gets the error
    }
  }

  #add(params: WatchParams): Entry {
    if (this.#isDisposed) throw new ExecError('invalidRequest', 'the session has ended');
    if (this.#entries.size >= WATCHES_PER_SESSION) {
      throw new ExecError('invalidRequest', `at most ${WATCHES_PER_SESSION} watches may be open per session`);
    }
    const { watchId } = params;
    const entry = { params, begun: this.#begin(params) };
    const forget = (): void => {
      if (this.#entries.get(watchId) === entry) this.#entries.delete(watchId);
    };
    entry.begun.then((watch) => watch ?? forget(), forget);
    this.#entries.set(watchId, entry);
    return entry;
  }

  async #begin(params: WatchParams): Promise<Watch | undefined> {
    const { watchId, path, sandbox } = params;
    const base = simplified(textOf(path.href));
    const isReadable = sandbox ? readablePaths(sandbox, this.#options.sandboxes.environment) : undefined;
    const { process, root } = await this.#start(params, base);
    if (root === undefined) return undefined;
    return new Watch({
      watchId,
      process,
      shown: isReadable && new ShownChanges(isReadable, base, root),
      audience: this.#options.audience,
      isAttached: this.#isAttached,
      onOver: () => void this.close(watchId),
    });
  }

  /** The program that watches, and the path without links; undefined if there are no changes to tell. */
  async #start(params: WatchParams, base: string): Promise<{ process: WatchProcess; root: string | undefined }> {
    const request = { path: pathBytes(base), recursive: params.recursive };
    let process = this.#launch(params);
    let begin: WatchBegin;
    try {
      begin = await process.begin(request);
    } catch (error) {
      await process[Symbol.asyncDispose]();
      if (!(error instanceof WatchProcessEnded && error.hasNoSandbox)) throw error;
      await this.#options.sandboxes.bubblewrap.triedLater(); // the first one assumed that bubblewrap works
      process = this.#launch(params);
      begin = await process.begin(request);
    }
    const { watching, root, failed } = begin;
    if (watching && root !== undefined) return { process, root: textOf(root) };
    await process[Symbol.asyncDispose]();
    if (failed) throw watchError(failed);
    return { process, root: undefined };
  }

  /** In a sandbox when that may not read everything: then the kernel decides what is seen. */
  #launch({ path, sandbox }: WatchParams): WatchProcess {
    const { sandboxes, launchers } = this.#options;
    const program = nativeFile('fs-watch');
    const policy = sandbox && resolveFilePolicy(sandbox, { mode: 'read', paths: [path], env: sandboxes.environment });
    return new WatchProcess(
      policy?.kind === 'view' ? launchers.launch(program, policy.view) : launchers.launchOutside(program),
    );
  }
}

function checkWatchId(watchId: string): void {
  if (Buffer.byteLength(watchId) > WATCH_ID_BYTES) {
    throw new ExecError('invalidRequest', `watch ID must not exceed ${WATCH_ID_BYTES} bytes`);
  }
}

/** Without slashes after another or at the end, where names are added. */
const simplified = (path: string): string => path.replaceAll(/\/{2,}/g, '/').replace(/(?!^)\/$/, '');
