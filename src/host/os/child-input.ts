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

/** A write of which the addon does not have everything yet. */
interface Rest extends Writer {
  bytes: Uint8Array;
}

/** The input of a native child. */
export class NativeInput implements ChildInput {
  readonly #addon: Addon;
  readonly #child: number;
  readonly #terminal: boolean;
  #failure: Error | undefined;
  /** Resolve when the child has read all bytes that the addon has. */
  #waiting: Writer[] = [];
  /** Writes for which the queue has no room, in order; of the first a part may be queued. */
  #line: Rest[] = [];
  /** At most so much is queued. */
  #queued = 0;
  #ending = false;

  constructor(addon: Addon, child: number, terminal: boolean) {
    this.#addon = addon;
    this.#child = child;
    this.#terminal = terminal;
  }

  get queued(): number {
    return this.#queued;
  }

  hasRoom(length: number): boolean {
    return this.#line.length === 0 && this.#queued + length <= QUEUE_LIMIT;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.hasRoom(bytes.length)) return this.#pass(bytes);
    const written = new Promise<void>((resolve, reject) => this.#line.push({ bytes, resolve, reject }));
    if (this.#queued === 0) this.#advance();
    return written;
  }

  async flushed(): Promise<void> {
    if (this.#queued > 0) await new Promise<void>((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  end(): void {
    if (this.#terminal || this.#failure !== undefined) return;
    this.#failure = writeError(constants.errno.EPIPE);
    this.#ending = true;
    this.#endInTurn();
  }

  /** Called when the child has read everything that was queued. */
  drained(): void {
    this.#queued = 0;
    for (const writer of this.#waiting.splice(0)) writer.resolve();
    this.#advance();
  }

  /** Queues as much of the line as there is room for. Of a large write the next part follows when the child has read one. */
  #advance(): void {
    try {
      for (let next = this.#line[0]; next; next = this.#line[0]) {
        const part = next.bytes.subarray(0, QUEUE_LIMIT);
        if (this.#queued > 0 && this.#queued + next.bytes.length > QUEUE_LIMIT) return;
        this.#pass(part);
        next.bytes = next.bytes.subarray(part.length);
        if (next.bytes.length > 0) continue;
        this.#line.shift();
        next.resolve();
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
    this.#queued = 0;
    for (const writer of [...this.#waiting.splice(0), ...this.#line.splice(0)]) writer.reject(error);
    return error;
  }
}

function writeError(errno: number): Error {
  const code = errorName(errno);
  return Object.assign(new Error(`write ${code}`), { code, errno });
}
