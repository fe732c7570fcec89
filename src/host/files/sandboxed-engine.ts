import { ExecError } from '../../protocol/index.ts';
import {
  ANSWER_LIMIT_MS,
  type Engine,
  EngineChannel,
  encodeWhole,
  endOf,
  type FileRequest,
  pathList,
  type ResultText,
  resultOf,
  searchGoesOn,
  usuallyInstant,
} from '../engine/index.ts';
import type { Child } from '../os/index.ts';
import type { LaunchedHelper } from '../sandbox/index.ts';

/**
 * The engine in a helper process inside a sandbox; answers any number of requests, in order. Answers that usually take
 * less time than a switch to another thread are waited for on the main thread.
 */
export class SandboxedEngine implements Engine, AsyncDisposable {
  readonly answersInTurn = true;
  readonly #child: Child;
  readonly #channel: EngineChannel;
  readonly #ended: Promise<void>;
  #stderr = '';
  #failure: Error | undefined;
  /** Open files, and searches that are not over. */
  #kept = 0;
  #lastUsed = performance.now();
  /** Whether the helper has answered, so that its sandbox is built, which takes milliseconds. */
  #started = false;

  constructor({ child, channel, refused, mounts }: LaunchedHelper) {
    this.#child = child;
    const preface = [
      ...(mounts.length > 0 ? [encodeWhole({ operation: 'mounted', payload: mounts })] : []),
      ...(refused.length > 0 ? [encodeWhole({ operation: 'protect', payload: pathList(refused) })] : []),
    ];
    this.#channel = new EngineChannel(channel, { preface, onOverdue: () => this.#giveUp() });
    this.#ended = this.#awaitEnd();
  }

  /** Whether the helper has ended, and rejects every request. */
  get failed(): boolean {
    return this.#failure !== undefined;
  }

  get started(): boolean {
    return this.#started;
  }

  /** Whether the helper ended because bubblewrap could make no sandbox for it. */
  get hasNoSandbox(): boolean {
    return this.failed && !this.#started && this.#stderr.startsWith('bwrap: ');
  }

  /** Whether a request or a search is under way or a file open, which the client would lose with the helper. */
  get busy(): boolean {
    return !this.failed && (this.#channel.busy || this.#kept > 0);
  }

  get idleMs(): number {
    return performance.now() - this.#lastUsed;
  }

  execute(request: FileRequest): ResultText | Promise<ResultText> {
    if (this.#failure) return Promise.reject(this.#failure);
    this.#lastUsed = performance.now();
    const answer = this.#answersSoon(request) ? this.#channel.exchangeNow(request) : this.#channel.exchange(request);
    return answer instanceof Promise ? this.#await(request, answer) : resultOf(answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#fail('it was ended');
    await this.#child[Symbol.asyncDispose]();
    await this.#channel[Symbol.asyncDispose]();
  }

  #answersSoon({ operation, payload, numbers }: FileRequest): boolean {
    if (!this.#started || this.#channel.busy) return false;
    if (!usuallyInstant.has(operation) || (payload?.length ?? 0) > SMALL_BYTES) return false;
    return operation !== 'readBlock' || numbers![2]! <= SMALL_BYTES;
  }

  async #await({ operation }: FileRequest, answer: Promise<Buffer>): Promise<ResultText> {
    const bytes = await answer.catch(() => this.#throwFailure()); // the channel does not know how the helper ended
    this.#lastUsed = performance.now();
    this.#started = true;
    if (operation === 'close' || operation === 'searchOn' || operation === 'searchEnd') this.#kept--;
    const result = resultOf(bytes);
    if (operation === 'open' || (isSearch(operation) && searchGoesOn(result))) this.#kept++;
    return result;
  }

  /** Ends the process behind a broken channel and throws why it ended. */
  async #throwFailure(): Promise<never> {
    void this.#child[Symbol.asyncDispose]();
    await this.#ended;
    throw this.#failure;
  }

  #giveUp(): void {
    this.#fail(`no answer within ${ANSWER_LIMIT_MS / 1000} s`);
    void this.#child[Symbol.asyncDispose]();
  }

  async #awaitEnd(): Promise<void> {
    const { status, stderr } = await endOf(this.#child);
    this.#stderr = stderr;
    this.#fail(`with status ${status}: ${stderr.trim()}`);
  }

  /** Keeps the first reason. */
  #fail(how: string): void {
    this.#failure ??= new ExecError('internal', `fs sandbox helper failed ${how}`);
  }
}

const isSearch = (operation: FileRequest['operation']): boolean => operation === 'search' || operation === 'searchOn';

/** Copying and encoding more would block the event loop for too long. */
const SMALL_BYTES = 64 * 1024;
