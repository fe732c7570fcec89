import { closeSync } from 'node:fs';
import { fileAnswer, fileAnswerLater } from '../os/index.ts';
import { isPostponed, readAnswerHead } from './answer.ts';
import { encodeFileRequest, encodeWhole, type FileRequest } from './request.ts';

export interface EngineChannelOptions {
  /** Sent in front of the first request, and not answered. */
  readonly preface?: readonly Uint8Array[];
  /** Called when an answer takes longer than `ANSWER_LIMIT_MS`; must end the other process. */
  readonly onOverdue?: () => void;
}

/**
 * A socket to an engine in another process, which gets one request at a time. Every exchange rejects when that process
 * has ended.
 */
export class EngineChannel implements AsyncDisposable {
  readonly #descriptor: number;
  readonly #onOverdue: () => void;
  #preface: readonly Uint8Array[];
  #nextId = 1;
  /** Exchanges that are under way or wait for their turn. */
  #pending = 0;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(descriptor: number, { preface = [], onOverdue = () => {} }: EngineChannelOptions = {}) {
    this.#descriptor = descriptor;
    this.#preface = preface;
    this.#onOverdue = onOverdue;
  }

  get busy(): boolean {
    return this.#pending > 0;
  }

  /** Exchanges after all earlier requests, on a thread of its own. */
  exchange(request: FileRequest): Promise<Buffer> {
    const id = this.#nextId++;
    const message = this.#encode(request, id);
    return this.#inTurn(() => this.#receiveLater(id, message));
  }

  /** Waits for the answer on this thread, and goes on waiting on another one when it takes long. The channel must not be busy. */
  exchangeNow(request: FileRequest): Buffer | Promise<Buffer> {
    const id = this.#nextId++;
    const message = this.#encode(request, id);
    const answer = fileAnswer(this.#exchangeRequest(BLOCKING_MICROSECONDS, message), message);
    if (readAnswerHead(answer).id === id) return answer;
    if (!isPostponed(answer)) return Promise.reject(new Error('the engine has ended'));
    return this.#inTurn(() => this.#receiveLater(id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    if (!this.#closed) closeSync(this.#descriptor);
    this.#closed = true;
  }

  #encode(request: FileRequest, id: number): Buffer {
    const message = encodeWhole(request, id);
    if (this.#preface.length === 0) return message;
    const first = Buffer.concat([...this.#preface, message]);
    this.#preface = [];
    return first;
  }

  #inTurn(exchange: () => Promise<Buffer>): Promise<Buffer> {
    this.#pending++;
    const answer = this.#last.then(exchange).finally(() => this.#pending--);
    this.#last = answer.catch(() => {}); // the caller gets the error
    return answer;
  }

  async #receiveLater(id: number, message?: Buffer): Promise<Buffer> {
    const deadline = setTimeout(this.#onOverdue, ANSWER_LIMIT_MS).unref();
    try {
      const answer = await fileAnswerLater(this.#exchangeRequest(LONGEST_MICROSECONDS, message), message);
      if (readAnswerHead(answer).id !== id) throw new Error('the engine has ended');
      return answer;
    } finally {
      clearTimeout(deadline);
    }
  }

  /** Has the engine in this process send a message through the socket, and wait for the answer. */
  #exchangeRequest(microseconds: number, message?: Buffer): Buffer {
    const numbers = [this.#descriptor, microseconds];
    return encodeFileRequest({ operation: 'exchange', numbers, payload: message });
  }
}

/** How long an exchange may block the event loop: no longer than a few small requests take. */
const BLOCKING_MICROSECONDS = 500;
/** An engine that does not answer for longer hangs, on a dead network file system for example. */
export const ANSWER_LIMIT_MS = 30_000;
/** Never reached: `onOverdue` has ended the process by then. */
const LONGEST_MICROSECONDS = 60_000_000;
