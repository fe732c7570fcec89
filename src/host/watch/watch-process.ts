import { Socket } from 'node:net';
import { deferred } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import { endOf, type HelperEnd } from '../engine/index.ts';
import type { LaunchedHelper } from '../sandbox/index.ts';
import { DIRECTORIES_PER_WATCH, MESSAGE_BYTES } from './limits.ts';

/** Why a path is not watched, or no longer. */
export type WatchFailure = { readonly errno: number } | { readonly limit: 'instances' | 'watches' | 'directories' };

/** The first message: whether changes will be told, and the path without links. */
export interface WatchBegin {
  readonly watching?: boolean;
  readonly root?: string;
  readonly failed?: WatchFailure;
}

export interface PathChange {
  readonly path: string;
  readonly kind: 'created' | 'modified' | 'removed' | 'renamed';
  readonly from?: string;
}

/** The messages after it (native/watch/message.h). */
export interface ChangeBatch {
  readonly changes: readonly PathChange[];
  readonly overflow?: boolean;
  readonly ended?: boolean;
  readonly failed?: WatchFailure;
}

export interface WatchRequest {
  readonly path: Uint8Array;
  readonly recursive: boolean;
}

/** The program `fs-watch`, in a sandbox or not. */
export class WatchProcess implements AsyncDisposable {
  readonly #helper: LaunchedHelper;
  readonly #socket: Socket;
  readonly #messages: AsyncGenerator<unknown, void, undefined>;
  readonly #end = deferred<HelperEnd>();

  constructor(helper: LaunchedHelper) {
    this.#helper = helper;
    this.#socket = new Socket({ fd: helper.channel, readable: true, writable: true });
    this.#socket.on('error', () => {}); // the end of the messages says as much
    this.#messages = messagesOf(this.#socket);
    void endOf(helper.child).then(this.#end.resolve);
  }

  async begin(request: WatchRequest): Promise<WatchBegin> {
    this.#socket.write(encodeRequest(request, this.#helper.mounts));
    return (await this.#message()) as WatchBegin;
  }

  /** Asks for changes and waits until there are some: until then they are joined in the program. */
  async next(): Promise<ChangeBatch> {
    this.#socket.write(ONE_MORE);
    return (await this.#message()) as ChangeBatch;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.#helper.child[Symbol.asyncDispose]();
  }

  async #message(): Promise<unknown> {
    const next = await this.#messages.next().catch(() => undefined); // how the program ended says why
    if (next && !next.done) return next.value;
    const { status, stderr } = await this.#end.promise;
    throw new WatchProcessEnded(status, stderr);
  }
}

export class WatchProcessEnded extends ExecError {
  /** Whether bubblewrap could make no sandbox for it. */
  readonly hasNoSandbox: boolean;

  constructor(status: string, stderr: string) {
    super('internal', `the watch failed with status ${status}: ${stderr.trim()}`);
    this.hasNoSandbox = stderr.startsWith('bwrap: ');
  }
}

/** As native/watch/request.h describes it. */
function encodeRequest({ path, recursive }: WatchRequest, mounts: Buffer): Buffer {
  const head = Buffer.alloc(REQUEST_HEAD_BYTES);
  head.writeUInt32LE(mounts.length + path.length + 1, 0);
  head.writeUInt32LE(mounts.length, 4);
  head.writeUInt32LE(recursive ? 1 : 0, 8);
  head.writeUInt32LE(DIRECTORIES_PER_WATCH, 12);
  return Buffer.concat([head, mounts, path, Buffer.alloc(1)]);
}

/** Each is its length and JSON text. */
async function* messagesOf(socket: Socket): AsyncGenerator<unknown, void, undefined> {
  let unread: Buffer = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    while (unread.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + unread.readUInt32LE(0);
      if (end > MESSAGE_BYTES) throw new Error('the message is too long');
      if (unread.length < end) break;
      yield JSON.parse(unread.toString('utf8', LENGTH_BYTES, end));
      unread = unread.subarray(end);
    }
  }
}

const REQUEST_HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
const ONE_MORE = Buffer.of(1);
