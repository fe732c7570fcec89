import { type Deferred, deferred } from '../../base/index.ts';
import { ExecError } from '../../protocol/index.ts';
import type { Child, ExitStatus, OutputChunk } from '../os/index.ts';
import type { LaunchedHelper } from '../sandbox/index.ts';
import { AnswerStream } from './answer-stream.ts';
import { type ResultText, readAnswerHead, resultOf } from './file-answer.ts';
import { brief, type FileEngine } from './file-engine.ts';
import { encodeFileRequest, type FileRequest, pathList } from './file-request.ts';
import { HelperChannel } from './helper-channel.ts';

/**
 * A helper process inside a sandbox; answers any number of requests, in order. What it has likely done in less time than
 * a switch to another thread takes is waited for; the rest goes through its standard input and output.
 */
export class FileHelper implements FileEngine, AsyncDisposable {
  readonly #child: Child;
  readonly #channel: HelperChannel;
  readonly #ended: Promise<void>;
  readonly #pending = new Map<number, Deferred<Buffer>>();
  readonly #answers = new AnswerStream((answer) => this.#settle(answer));
  #stderr = '';
  #failure: Error | undefined;
  #openFiles = 0;
  #nextId = 1;
  #lastUsed = performance.now();
  /** Runs while an answer is to come, anew with every piece of one: the helper answers in order. */
  #deadline: NodeJS.Timeout | undefined;
  /** Whether the sandbox is built, which takes a while. */
  #started = false;

  constructor({ child, channel, refused, mounts }: LaunchedHelper) {
    this.#child = child;
    this.#channel = new HelperChannel(channel);
    this.#ended = this.#listen();
    if (mounts.length > 0) this.#send(encoded({ operation: 'mounted', payload: mounts }, 0));
    if (refused.length > 0) this.#send(encoded({ operation: 'protect', payload: pathList(refused) }, 0));
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
    return !this.failed && (this.#awaitsAnswer || this.#openFiles > 0);
  }

  get idleMs(): number {
    return performance.now() - this.#lastUsed;
  }

  get #awaitsAnswer(): boolean {
    return this.#pending.size > 0 || this.#channel.busy;
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
    if (!this.#started || this.#awaitsAnswer) return false;
    if (!brief.has(operation) || (payload?.length ?? 0) > PROMPT_BYTES) return false;
    return operation !== 'readBlock' || numbers![2]! <= PROMPT_BYTES;
  }

  #askNow(request: FileRequest): ResultText | Promise<ResultText> {
    const answer = this.#channel.exchange(request, this.#nextId++);
    return answer instanceof Promise ? this.#awaitLate(answer) : resultOf(answer);
  }

  async #awaitLate(answer: Promise<Buffer>): Promise<ResultText> {
    this.#startDeadline();
    try {
      return resultOf(await answer.catch(() => this.#explain()));
    } finally {
      this.#renewDeadline();
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
    const parts = encoded(request, id); // throws for a path of another host, before anything waits for an answer
    const answer = deferred<Buffer>();
    this.#pending.set(id, answer);
    this.#startDeadline();
    this.#send(parts);
    return answer.promise;
  }

  #send(parts: readonly Uint8Array[]): void {
    for (const part of parts) void this.#write(part);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    await this.#child.stdin?.write(bytes).catch(() => {}); // it has ended, which its exit tells better
  }

  #startDeadline(): void {
    this.#deadline ??= setTimeout(() => this.#giveUp(), ANSWER_LIMIT_MS).unref();
  }

  #renewDeadline(): void {
    if (this.#awaitsAnswer) this.#deadline?.refresh();
    else this.#endDeadline();
  }

  #endDeadline(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  #giveUp(): void {
    this.#fail(failed(`no answer within ${ANSWER_LIMIT_MS / 1000} s`));
    void this.#child[Symbol.asyncDispose]();
  }

  async #listen(): Promise<void> {
    for await (const event of this.#child.events) {
      if (event.type !== 'output') continue;
      if (event.stream === 'stderr') this.#stderr = `${this.#stderr}${bytesOf(event.chunk)}`.slice(-STDERR_LIMIT);
      else this.#takeAnswers(bytesOf(event.chunk));
    }
    const status = describeStatus(await this.#child.exited);
    this.#fail(failed(`with status ${status}: ${this.#stderr.trim()}`));
  }

  #takeAnswers(bytes: Buffer): void {
    this.#answers.push(bytes);
    this.#renewDeadline();
  }

  #settle(answer: Buffer): void {
    const { id } = readAnswerHead(answer);
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    this.#lastUsed = performance.now();
    this.#started = true;
    pending?.resolve(answer);
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    this.#endDeadline();
    for (const pending of this.#pending.values()) pending.reject(this.#failure);
    this.#pending.clear();
  }
}

/** What is written for a request: its head, and its payload where it has one. */
function encoded(request: FileRequest, id: number): readonly Uint8Array[] {
  const head = encodeFileRequest(request, id);
  return request.payload?.length ? [head, request.payload] : [head];
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

/** A helper that is silent for longer hangs, on a dead network filesystem for example. */
const ANSWER_LIMIT_MS = 30_000;
/** More is copied and encoded for too long to wait for it. */
const PROMPT_BYTES = 64 * 1024;
/** Enough for the reason, too little to be misused. */
const STDERR_LIMIT = 2000;
