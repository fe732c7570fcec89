import { HelperLaunchers } from '../sandbox/index.ts';
import { type WatchAudience, Watches } from '../watch/index.ts';
import { FileAccess, type FileAccessOptions } from './access.ts';
import { AppendFiles } from './append-files.ts';

export interface SessionFilesOptions extends FileAccessOptions {
  /** Gets the changes of what is watched. */
  readonly audience: WatchAudience;
}

/** What a client has open that survives the loss of its connection, until its session ends. */
export class SessionFiles implements AsyncDisposable {
  readonly appending = new AppendFiles();
  readonly #options: SessionFilesOptions;
  #access: FileAccess | undefined;
  #watches: Watches | undefined;

  constructor(options: SessionFilesOptions) {
    this.#options = options;
  }

  /** Its helpers are not those of a connection, which end with that. */
  get access(): FileAccess {
    this.#access ??= new FileAccess(this.#options);
    return this.#access;
  }

  get watches(): Watches {
    const { sandboxes, audience, launchers = new HelperLaunchers(sandboxes) } = this.#options;
    this.#watches ??= new Watches({ sandboxes, launchers, audience });
    return this.#watches;
  }

  /** A client is there again, and takes notifications. */
  attached(): void {
    this.#watches?.attached();
  }

  detached(): void {
    this.#watches?.detached();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.appending[Symbol.asyncDispose](), this.#watches?.[Symbol.asyncDispose]()]);
    await this.#access?.[Symbol.asyncDispose]();
  }
}
