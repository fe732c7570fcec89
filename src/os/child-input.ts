import { constants } from 'node:os';
import type { Addon } from './addon.ts';
import type { ChildInput } from './child.ts';
import { errorName } from './error-name.ts';

/** Queued bytes above which a writer waits; large enough that a reader never idles, small against the server. */
const QUEUE_LIMIT = 1024 * 1024;

/** The input of a native child. */
export class NativeInput implements ChildInput {
  readonly #addon: Addon;
  readonly #child: number;
  readonly #terminal: boolean;
  #failure: Error | undefined;
  #waiting: { resolve(): void; reject(error: Error): void }[] = [];

  constructor(addon: Addon, child: number, terminal: boolean) {
    this.#addon = addon;
    this.#child = child;
    this.#terminal = terminal;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const queued = this.#addon.write(this.#child, bytes);
    if (queued < 0) throw this.failed(-queued);
    if (queued <= QUEUE_LIMIT) return;
    await new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  end(): void {
    if (this.#terminal || this.#failure !== undefined) return;
    this.#failure = writeError(constants.errno.EPIPE);
    this.#addon.end(this.#child);
  }

  drained(): void {
    for (const writer of this.#waiting.splice(0)) writer.resolve();
  }

  /** Refuses this and every later write. */
  failed(errno: number): Error {
    const error = writeError(errno);
    this.#failure ??= error;
    for (const writer of this.#waiting.splice(0)) writer.reject(error);
    return error;
  }
}

function writeError(errno: number): Error {
  const code = errorName(errno);
  return Object.assign(new Error(`write ${code}`), { code, errno });
}
