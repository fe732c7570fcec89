import { type Deferred, deferred } from '../base/index.ts';
import type { Child, ExitStatus, OutputChunk } from '../os/index.ts';
import { ExecError } from '../protocol/index.ts';
import { AnswerStream } from './answer-stream.ts';
import { type ResultText, readAnswerHead, resultOf } from './file-answer.ts';
import type { FileEngine } from './file-engine.ts';
import { encodeFileRequest, type FileRequest } from './file-request.ts';

interface Pending {
  readonly answer: Deferred<Buffer>;
  readonly timer: NodeJS.Timeout;
}

/** A helper process inside a sandbox; answers any number of requests, in order. */
export class FileHelper implements FileEngine, AsyncDisposable {
  readonly #child: Child;
  readonly #pending = new Map<number, Pending>();
  readonly #answers = new AnswerStream((answer) => this.#settle(answer));
  #stderr = '';
  #failure: Error | undefined;
  #openFiles = 0;
  #nextId = 1;
  #lastUsed = Date.now();

  constructor(child: Child) {
    this.#child = child;
    void this.#listen();
  }

  /** Whether it can take no more requests. */
  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether ending it now would take something away from the client. */
  get busy(): boolean {
    return !this.failed && (this.#pending.size > 0 || this.#openFiles > 0);
  }

  get idleMs(): number {
    return Date.now() - this.#lastUsed;
  }

  async execute(request: FileRequest): Promise<ResultText> {
    if (this.#failure) throw this.#failure;
    const result = resultOf(await this.#exchange(request));
    if (request.operation === 'open') this.#openFiles++;
    if (request.operation === 'close') this.#openFiles--;
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#fail(failed('it was ended'));
    await this.#child[Symbol.asyncDispose]();
  }

  #exchange(request: FileRequest): Promise<Buffer> {
    const id = this.#nextId++;
    const answer = deferred<Buffer>();
    const message = encodeFileRequest(request, id);
    const timer = setTimeout(() => this.#giveUp(), REQUEST_LIMIT_MS).unref();
    this.#pending.set(id, { answer, timer });
    this.#lastUsed = Date.now();
    void this.#write(message);
    if (request.payload?.length) void this.#write(request.payload);
    return answer.promise;
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
    this.#lastUsed = Date.now();
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
/** Enough for the reason, too little to be misused. */
const STDERR_LIMIT = 2000;
