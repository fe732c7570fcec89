import { type Deferred, deferred } from '../base/index.ts';
import type { Child, ExitStatus, OutputChunk } from '../os/index.ts';
import { ExecError } from '../protocol/index.ts';
import type { LaunchedHelper } from '../sandbox/index.ts';
import { AnswerStream } from './answer-stream.ts';
import { type ResultText, readAnswerHead, resultOf } from './file-answer.ts';
import { brief, type FileEngine } from './file-engine.ts';
import { encodeFileRequest, type FileRequest, pathList } from './file-request.ts';
import { HelperChannel } from './helper-channel.ts';

interface Pending {
  readonly answer: Deferred<Buffer>;
  readonly timer: NodeJS.Timeout;
}

/**
 * A helper process inside a sandbox; answers any number of requests, in order. What it has likely done in less time than
 * a switch to another thread takes is waited for; the rest goes through its standard input and output.
 */
export class FileHelper implements FileEngine, AsyncDisposable {
  readonly #child: Child;
  readonly #channel: HelperChannel;
  readonly #ended: Promise<void>;
  readonly #pending = new Map<number, Pending>();
  readonly #answers = new AnswerStream((answer) => this.#settle(answer));
  #stderr = '';
  #failure: Error | undefined;
  #openFiles = 0;
  #nextId = 1;
  #lastUsed = performance.now();
  /** Whether the sandbox is built, which takes a while. */
  #started = false;

  constructor({ child, channel, refused }: LaunchedHelper) {
    this.#child = child;
    this.#channel = new HelperChannel(channel);
    this.#ended = this.#listen();
    if (refused.length > 0) this.#send({ operation: 'protect', payload: pathList(refused) }, 0);
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
    return !this.failed && (this.#pending.size > 0 || this.#channel.busy || this.#openFiles > 0);
  }

  get idleMs(): number {
    return performance.now() - this.#lastUsed;
  }

  execute(request: FileRequest): ResultText | Promise<ResultText> {
    if (this.#failure) return Promise.reject(this.#failure);
    this.#lastUsed = performance.now();
    return this.#answersSoon(request) ? this.#askNow(request) : this.#ask(request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#fail(failed('it was ended'));
    await this.#child[Symbol.asyncDispose]();
    await this.#channel[Symbol.asyncDispose]();
  }

  #answersSoon({ operation, payload, numbers }: FileRequest): boolean {
    if (!this.#started || this.#pending.size > 0 || this.#channel.busy) return false;
    if (!brief.has(operation) || (payload?.length ?? 0) > PROMPT_BYTES) return false;
    return operation !== 'readBlock' || numbers![2]! <= PROMPT_BYTES;
  }

  #askNow(request: FileRequest): ResultText | Promise<ResultText> {
    const answer = this.#channel.exchange(request, this.#nextId++);
    return answer instanceof Promise ? this.#awaitLate(answer) : resultOf(answer);
  }

  async #awaitLate(answer: Promise<Buffer>): Promise<ResultText> {
    const timer = setTimeout(() => this.#giveUp(), REQUEST_LIMIT_MS).unref();
    try {
      return resultOf(await answer.catch(() => this.#explain()));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends what can no longer be talked to and throws the reason. */
  async #explain(): Promise<never> {
    void this.#child[Symbol.asyncDispose]();
    await this.#ended;
    throw this.#failure;
  }

  async #ask(request: FileRequest): Promise<ResultText> {
    const result = resultOf(await this.#exchange(request));
    if (request.operation === 'open') this.#openFiles++;
    if (request.operation === 'close') this.#openFiles--;
    return result;
  }

  #exchange(request: FileRequest): Promise<Buffer> {
    const id = this.#nextId++;
    const answer = deferred<Buffer>();
    const timer = setTimeout(() => this.#giveUp(), REQUEST_LIMIT_MS).unref();
    this.#pending.set(id, { answer, timer });
    this.#send(request, id);
    return answer.promise;
  }

  #send(request: FileRequest, id: number): void {
    void this.#write(encodeFileRequest(request, id));
    if (request.payload?.length) void this.#write(request.payload);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    await this.#child.stdin?.write(bytes).catch(() => {}); // it has ended, which its exit tells better
  }

  #giveUp(): void {
    this.#fail(failed(`no answer within ${REQUEST_LIMIT_MS / 1000} s`));
    void this.#child[Symbol.asyncDispose]();
  }

  async #listen(): Promise<void> {
    for await (const event of this.#child.events) {
      if (event.type !== 'output') continue;
      if (event.stream === 'stderr') this.#stderr = `${this.#stderr}${bytesOf(event.chunk)}`.slice(-STDERR_LIMIT);
      else this.#answers.push(bytesOf(event.chunk));
    }
    const status = describeStatus(await this.#child.exited);
    this.#fail(failed(`with status ${status}: ${this.#stderr.trim()}`));
  }

  #settle(answer: Buffer): void {
    const { id } = readAnswerHead(answer);
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    this.#lastUsed = performance.now();
    this.#started = true;
    clearTimeout(pending?.timer);
    pending?.answer.resolve(answer);
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    for (const { answer, timer } of this.#pending.values()) {
      clearTimeout(timer);
      answer.reject(this.#failure);
    }
    this.#pending.clear();
  }
}

function failed(how: string): ExecError {
  return new ExecError('internal', `fs sandbox helper failed ${how}`);
}

function describeStatus(status: ExitStatus): string {
  return 'code' in status ? `exit status: ${status.code}` : `signal: ${status.signal}`;
}

/** The bytes the helper printed; the reader thread hands out everything as base64. */
function bytesOf({ buffer, start, end }: OutputChunk): Buffer {
  return Buffer.from(buffer.toString('latin1', start, end), 'base64');
}

/** A request that takes longer hangs, on a dead network filesystem for example. */
const REQUEST_LIMIT_MS = 30_000;
/** More is copied and encoded for too long to wait for it. */
const PROMPT_BYTES = 64 * 1024;
/** Enough for the reason, too little to be misused. */
const STDERR_LIMIT = 2000;
