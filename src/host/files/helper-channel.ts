import { closeSync } from 'node:fs';
import { fileAnswer, fileAnswerLater } from '../os/index.ts';
import { isPostponed, readAnswerHead } from './file-answer.ts';
import { encodeFileRequest, type FileRequest } from './file-request.ts';

/** A socket to a helper, for one request at a time whose answer is worth waiting for. */
export class HelperChannel implements AsyncDisposable {
  readonly #descriptor: number;
  /** The answer that did not come in time. */
  #late: Promise<Buffer> | undefined;
  #closed = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** Whether an answer is still to come. */
  get busy(): boolean {
    return this.#late !== undefined;
  }

  /** The answer, or a promise of it when it takes longer; rejects when the helper has ended. */
  exchange(request: FileRequest, id: number): Buffer | Promise<Buffer> {
    const message = encodeFileRequest(request, id);
    const whole = request.payload?.length ? Buffer.concat([message, request.payload]) : message;
    const answer = fileAnswer(this.#order(PATIENCE_MICROSECONDS, whole), whole);
    if (readAnswerHead(answer).id === id) return answer;
    return isPostponed(answer) ? this.#await() : Promise.reject(new Error('the helper has ended'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#late?.catch(() => {}); // told to whoever waits for it
    if (!this.#closed) closeSync(this.#descriptor);
    this.#closed = true;
  }

  #await(): Promise<Buffer> {
    const late = fileAnswerLater(this.#order(LONGEST_MICROSECONDS)).then((answer) => {
      this.#late = undefined;
      if (readAnswerHead(answer).id === 0) throw new Error('the helper has ended');
      return answer;
    });
    this.#late = late;
    return late;
  }

  #order(microseconds: number, message?: Buffer): Buffer {
    const numbers = [this.#descriptor, microseconds];
    return encodeFileRequest({ operation: 'exchange', numbers, payload: message });
  }
}

/** Everything else waits as long, so it is not more than a few small requests take. */
const PATIENCE_MICROSECONDS = 500;
/** Whoever asked gives up before. */
const LONGEST_MICROSECONDS = 60_000_000;
