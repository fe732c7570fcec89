import { FileAccess, type FileAccessOptions } from './access.ts';
import { AppendFiles } from './append-files.ts';

export type SessionFilesOptions = FileAccessOptions;

/** What a client has open that survives the loss of its connection, until its session ends. */
export class SessionFiles implements AsyncDisposable {
  readonly appending = new AppendFiles();
  readonly #options: SessionFilesOptions;
  #access: FileAccess | undefined;

  constructor(options: SessionFilesOptions) {
    this.#options = options;
  }

  /** Its helpers are not those of a connection, which end with that. */
  get access(): FileAccess {
    this.#access ??= new FileAccess(this.#options);
    return this.#access;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.appending[Symbol.asyncDispose]();
    await this.#access?.[Symbol.asyncDispose]();
  }
}
