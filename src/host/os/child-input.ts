import { constants } from 'node:os';
import type { Addon } from './addon.ts';
import type { ChildInput } from './child.ts';
import { errorName } from './error-name.ts';

/** The most queued bytes before a writer waits: enough to keep a reader busy, and little for the server. */
const QUEUE_LIMIT = 1024 * 1024;

interface Writer {
  resolve(): void;
  reject(error: Error): void;
}

/** The part of a write that the addon has not got yet. */
interface PendingWrite extends Writer {
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
  /** Writes for which the queue has no room, in order; a part of the first may be queued. */
  #pending: PendingWrite[] = [];
  /** An upper bound of the bytes in the addon's queue. */
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
    return this.#pending.length === 0 && this.#queued + length <= QUEUE_LIMIT;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.hasRoom(bytes.length)) return this.#queue(bytes);
    const written = new Promise<void>((resolve, reject) => this.#pending.push({ bytes, resolve, reject }));
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
    this.#endIfWritten();
  }

  /** Called when the child has read everything that was queued. */
  drained(): void {
    this.#queued = 0;
    for (const writer of this.#waiting.splice(0)) writer.resolve();
    this.#advance();
  }

  /** Queues as much of the pending writes as there is room for. A large write is queued in parts, each when the child has read one. */
  #advance(): void {
    try {
      for (let next = this.#pending[0]; next; next = this.#pending[0]) {
        const part = next.bytes.subarray(0, QUEUE_LIMIT);
        if (this.#queued > 0 && this.#queued + next.bytes.length > QUEUE_LIMIT) return;
        this.#queue(part);
        next.bytes = next.bytes.subarray(part.length);
        if (next.bytes.length > 0) continue;
        this.#pending.shift();
        next.resolve();
      }
    } catch {
      return; // every writer has got the error
    }
    this.#endIfWritten();
  }

  #queue(bytes: Uint8Array): void {
    const queued = this.#addon.write(this.#child, bytes);
    if (queued < 0) throw this.failed(-queued);
    this.#queued = queued;
  }

  #endIfWritten(): void {
    if (!this.#ending || this.#pending.length > 0) return;
    this.#ending = false;
    this.#addon.end(this.#child);
  }

  /** Rejects this and every later write. */
  failed(errno: number): Error {
    const error = writeError(errno);
    this.#failure ??= error;
    this.#queued = 0;
    for (const writer of [...this.#waiting.splice(0), ...this.#pending.splice(0)]) writer.reject(error);
    return error;
  }
}

function writeError(errno: number): Error {
  const code = errorName(errno);
  return Object.assign(new Error(`write ${code}`), { code, errno });
}
