import { ExecError } from '../../protocol/index.ts';
import {
  ANSWER_LIMIT_MS,
  type Engine,
  EngineChannel,
  encodeWhole,
  type FileRequest,
  pathList,
  type ResultText,
  resultOf,
  usuallyInstant,
} from '../engine/index.ts';
import type { Child, ExitStatus, OutputChunk } from '../os/index.ts';
import type { LaunchedHelper } from '../sandbox/index.ts';

/**
 * The engine in a helper process inside a sandbox; answers any number of requests, in order. An answer that usually takes
 * less time than a switch to another thread is waited for on this one.
 */
export class SandboxedEngine implements Engine, AsyncDisposable {
  readonly #child: Child;
  readonly #channel: EngineChannel;
  readonly #ended: Promise<void>;
  #stderr = '';
  #failure: Error | undefined;
  #openFiles = 0;
  #lastUsed = performance.now();
  /** Whether the sandbox is built, which takes a while. */
  #started = false;

  constructor({ child, channel, refused, mounts }: LaunchedHelper) {
    this.#child = child;
    const preface = [
      ...(mounts.length > 0 ? [encodeWhole({ operation: 'mounted', payload: mounts })] : []),
      ...(refused.length > 0 ? [encodeWhole({ operation: 'protect', payload: pathList(refused) })] : []),
    ];
    this.#channel = new EngineChannel(channel, { preface, onOverdue: () => this.#giveUp() });
    this.#ended = this.#listen();
  }

  /** Whether it can take no more requests. */
  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether it has answered. */
  get started(): boolean {
    return this.#started;
  }

  /** Whether it ended because no sandbox could be made for it. */
  get unbuilt(): boolean {
    return this.failed && !this.#started && this.#stderr.startsWith('bwrap: ');
  }

  /** Whether ending it now would take something away from the client. */
  get busy(): boolean {
    return !this.failed && (this.#channel.busy || this.#openFiles > 0);
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
    if (!usuallyInstant.has(operation) || (payload?.length ?? 0) > PROMPT_BYTES) return false;
    return operation !== 'readBlock' || numbers![2]! <= PROMPT_BYTES;
  }

  async #await({ operation }: FileRequest, answer: Promise<Buffer>): Promise<ResultText> {
    const bytes = await answer.catch(() => this.#explain()); // throws what the helper died of
    this.#lastUsed = performance.now();
    this.#started = true;
    const result = resultOf(bytes);
    if (operation === 'open') this.#openFiles++;
    if (operation === 'close') this.#openFiles--;
    return result;
  }

  /** Ends the process behind a broken channel and throws the reason. */
  async #explain(): Promise<never> {
    void this.#child[Symbol.asyncDispose]();
    await this.#ended;
    throw this.#failure;
  }

  #giveUp(): void {
    this.#fail(`no answer within ${ANSWER_LIMIT_MS / 1000} s`);
    void this.#child[Symbol.asyncDispose]();
  }

  async #listen(): Promise<void> {
    for await (const event of this.#child.events) {
      if (event.type !== 'output' || event.stream !== 'stderr') continue;
      this.#stderr = `${this.#stderr}${textOf(event.chunk)}`.slice(-STDERR_LIMIT);
    }
    const status = describeStatus(await this.#child.exited);
    this.#fail(`with status ${status}: ${this.#stderr.trim()}`);
  }

  /** The first reason is the one that is told. */
  #fail(how: string): void {
    this.#failure ??= new ExecError('internal', `fs sandbox helper failed ${how}`);
  }
}

function describeStatus(status: ExitStatus): string {
  return 'code' in status ? `exit status: ${status.code}` : `signal: ${status.signal}`;
}

/** The reader thread hands out all output as base64. */
function textOf({ buffer, start, end }: OutputChunk): string {
  return Buffer.from(buffer.toString('latin1', start, end), 'base64').toString();
}

/** More is copied and encoded for too long to wait for it. */
const PROMPT_BYTES = 64 * 1024;
/** Enough for the reason, too little to be misused. */
const STDERR_LIMIT = 2000;
