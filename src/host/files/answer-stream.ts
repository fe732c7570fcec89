import { ANSWER_ROOM_AFTER, ANSWER_ROOM_BEFORE } from '../os/index.ts';
import { readAnswerHead } from './file-answer.ts';

/** Puts answers together from the pieces in which a helper's output arrives. */
export class AnswerStream {
  readonly #receive: (answer: Buffer) => void;
  #head = Buffer.alloc(0);
  #answer: Buffer | undefined;
  #filled = 0;

  constructor(receive: (answer: Buffer) => void) {
    this.#receive = receive;
  }

  push(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0) rest = this.#answer ? this.#fill(this.#answer, rest) : this.#begin(rest);
  }

  /** Collects a head, and with it makes room for the whole answer. */
  #begin(piece: Buffer): Buffer {
    const missing = ANSWER_ROOM_BEFORE - this.#head.length;
    this.#head = Buffer.concat([this.#head, piece.subarray(0, missing)]);
    if (this.#head.length < ANSWER_ROOM_BEFORE) return EMPTY;
    const answer = Buffer.alloc(ANSWER_ROOM_BEFORE + readAnswerHead(this.#head).payloadBytes + ANSWER_ROOM_AFTER);
    this.#head.copy(answer);
    this.#head = EMPTY;
    this.#answer = answer;
    this.#filled = ANSWER_ROOM_BEFORE;
    return this.#fill(answer, piece.subarray(missing));
  }

  #fill(answer: Buffer, piece: Buffer): Buffer {
    const end = answer.length - ANSWER_ROOM_AFTER;
    const taken = piece.subarray(0, end - this.#filled);
    taken.copy(answer, this.#filled);
    this.#filled += taken.length;
    if (this.#filled === end) {
      this.#answer = undefined;
      this.#receive(answer);
    }
    return piece.subarray(taken.length);
  }
}

const EMPTY = Buffer.alloc(0);
