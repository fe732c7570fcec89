import { ExecError } from '../../protocol/index.ts';
import type { Engine, FileRequest } from '../engine/index.ts';
import { parseResult, type ResultText, resultText } from '../engine/index.ts';
import type { AnswerSlots } from './answer-slots.ts';

/** The files a client has open, by the ids it chose. */
export class OpenFiles implements AsyncDisposable {
  readonly #files = new Map<string, OpenFile>();
  readonly #slots: AnswerSlots | undefined;
  #disposed = false;

  constructor(slots: AnswerSlots | undefined) {
    this.#slots = slots;
  }

  /** The id is checked first, and claimed before the file is open, so that of two opens with one id one fails. */
  async open(handleId: string, engine: () => Engine, request: FileRequest): Promise<ResultText> {
    checkHandleId(handleId);
    // A request may have waited for its turn until after the connection closed.
    if (this.#disposed) throw new ExecError('invalidRequest', 'the connection is closed');
    if (this.#files.has(handleId)) throw handleExists(handleId);
    if (this.#files.size >= MAX_HANDLES) {
      throw new ExecError('invalidRequest', `at most ${MAX_HANDLES} file handles may be open per connection`);
    }
    const file = new OpenFile(engine(), request);
    this.#files.set(handleId, file);
    try {
      await file.opened;
    } catch (error) {
      if (this.#files.get(handleId) === file) this.#files.delete(handleId);
      throw error;
    }
    return resultText({ handleId });
  }

  has(handleId: string): boolean {
    return this.#files.has(handleId);
  }

  /** After an error the position in the file is unknown, and the file is closed. */
  async readBlock(handleId: string, offset: number, length: number): Promise<ResultText> {
    checkHandleId(handleId);
    if (length < 1 || length > MAX_BLOCK_BYTES) throw blockLength('read');
    const file = this.#requireOpen(handleId);
    try {
      return await file.execute({ operation: 'readBlock', numbers: [offset, length] }, this.#slots);
    } catch (error) {
      void this.close(handleId);
      throw error;
    }
  }

  async writeBlock(handleId: string, offset: number, chunk: Uint8Array): Promise<ResultText> {
    checkHandleId(handleId);
    checkWriteRange(offset, chunk);
    return this.#requireOpen(handleId).executeInOrder({ operation: 'writeBlock', numbers: [offset], payload: chunk });
  }

  /** Closes a file after its requests under way; does nothing for an unknown handle. */
  async close(handleId: string): Promise<void> {
    checkHandleId(handleId);
    const file = this.#files.get(handleId);
    this.#files.delete(handleId);
    await file?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await Promise.all([...this.#files.keys()].map((handleId) => this.close(handleId)));
  }

  #requireOpen(handleId: string): OpenFile {
    const file = this.#files.get(handleId);
    if (!file) throw new ExecError('notFound', `unknown file handle \`${handleId}\``);
    return file;
  }
}

/** A descriptor in an engine, closed once nothing uses it any more. */
export class OpenFile implements AsyncDisposable {
  readonly opened: Promise<void>;
  readonly #engine: Engine;
  readonly #pending = new Set<Promise<unknown>>();
  #descriptor = -1;
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine, request: FileRequest) {
    this.#engine = engine;
    this.opened = Promise.resolve(engine.execute(request)).then((result) => {
      this.#descriptor = (parseResult(result) as { fd: number }).fd;
    });
    this.opened.catch(() => {}); // the request that opened it gets the error
  }

  async execute(request: FileRequest, slots?: AnswerSlots): Promise<ResultText> {
    if (this.#descriptor < 0) await this.opened;
    const numbers = [this.#descriptor, ...(request.numbers ?? [])];
    const execute = () => this.#engine.execute({ ...request, numbers });
    const outcome = Promise.resolve(slots ? slots.run(execute) : execute());
    this.#pending.add(outcome);
    try {
      return await outcome;
    } finally {
      this.#pending.delete(outcome);
    }
  }

  /** One after the other, because overlapping blocks must not race. */
  executeInOrder(request: FileRequest): Promise<ResultText> {
    const outcome = this.#lastWrite.then(() => this.execute(request));
    this.#lastWrite = outcome.catch(() => {}); // its own caller gets the error
    return outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.opened.catch(() => {}); // not open: nothing to close
    if (this.#descriptor < 0) return;
    await this.#lastWrite;
    await Promise.allSettled(this.#pending);
    const closed = this.#engine.execute({ operation: 'close', numbers: [this.#descriptor] });
    await Promise.resolve(closed).catch(() => {}); // its helper has ended, and the file is closed with it
  }
}

export function checkWriteRange(offset: number, chunk: Uint8Array): void {
  if (chunk.length < 1 || chunk.length > MAX_BLOCK_BYTES) throw blockLength('write');
  if (offset + chunk.length >= OFFSET_LIMIT) {
    throw new ExecError('invalidRequest', 'file write range exceeds the signed 64-bit file offset limit');
  }
}

export function handleExists(handleId: string): ExecError {
  return new ExecError('invalidRequest', `file handle \`${handleId}\` already exists`);
}

export function checkHandleId(handleId: string): void {
  if (Buffer.byteLength(handleId) > MAX_HANDLE_ID_BYTES) {
    throw new ExecError('invalidRequest', `file handle ID must not exceed ${MAX_HANDLE_ID_BYTES} bytes`);
  }
}

function blockLength(direction: 'read' | 'write'): ExecError {
  return new ExecError('invalidRequest', `file ${direction} block length must be between 1 and ${MAX_BLOCK_BYTES}`);
}

const MAX_HANDLES = 128;
const MAX_HANDLE_ID_BYTES = 32;
const MAX_BLOCK_BYTES = 1_048_576;
const OFFSET_LIMIT = 2 ** 63;
