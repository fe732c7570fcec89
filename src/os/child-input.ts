import { constants } from 'node:os';
import type { Addon } from './addon.ts';
import type { ChildInput } from './child.ts';
import { errorName } from './error-name.ts';

/** Queued bytes above which a writer waits; large enough that a reader never idles, small against the server. */
const QUEUE_LIMIT = 1024 * 1024;

interface Writer {
  resolve(): void;
  reject(error: Error): void;
}

/** The input of a native child. */
export class NativeInput implements ChildInput {
  readonly #addon: Addon;
  readonly #child: number;
  readonly #terminal: boolean;
  #failure: Error | undefined;
  /** Writes that the addon has and the child has not taken yet. */
  #waiting: Writer[] = [];
  /** Writes for which the queue has no room, in order. */
  #line: (Writer & { readonly bytes: Uint8Array })[] = [];
  /** At most so much is queued. */
  #queued = 0;
  #ending = false;

  constructor(addon: Addon, child: number, terminal: boolean) {
    this.#addon = addon;
    this.#child = child;
    this.#terminal = terminal;
  }

  hasRoom(length: number): boolean {
    return this.#line.length === 0 && (this.#queued === 0 || this.#queued + length <= QUEUE_LIMIT);
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.hasRoom(bytes.length)) {
      return new Promise((resolve, reject) => this.#line.push({ bytes, resolve, reject }));
    }
    this.#pass(bytes);
    if (this.#queued <= QUEUE_LIMIT) return;
    await new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  end(): void {
    if (this.#terminal || this.#failure !== undefined) return;
    this.#failure = writeError(constants.errno.EPIPE);
    this.#ending = true;
    this.#endInTurn();
  }

  /** The child has taken everything that was queued. */
  drained(): void {
    this.#queued = 0;
    for (const writer of this.#waiting.splice(0)) writer.resolve();
    try {
      for (let next = this.#line[0]; next; next = this.#line[0]) {
        if (this.#queued > 0 && this.#queued + next.bytes.length > QUEUE_LIMIT) break;
        this.#pass(next.bytes);
        this.#line.shift();
        if (this.#queued === 0) next.resolve();
        else this.#waiting.push(next);
      }
    } catch {
      return; // every writer has been told
    }
    this.#endInTurn();
  }

  #pass(bytes: Uint8Array): void {
    const queued = this.#addon.write(this.#child, bytes);
    if (queued < 0) throw this.failed(-queued);
    this.#queued = queued;
  }

  #endInTurn(): void {
    if (!this.#ending || this.#line.length > 0) return;
    this.#ending = false;
    this.#addon.end(this.#child);
  }

  /** Refuses this and every later write. */
  failed(errno: number): Error {
    const error = writeError(errno);
    this.#failure ??= error;
    for (const writer of [...this.#waiting.splice(0), ...this.#line.splice(0)]) writer.reject(error);
    return error;
  }
}

function writeError(errno: number): Error {
  const code = errorName(errno);
  return Object.assign(new Error(`write ${code}`), { code, errno });
}
