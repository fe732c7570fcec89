import { ExecError } from '../../../protocol/index.ts';
import { limits } from '../limits.ts';

export interface Lines {
  readonly content: string;
  /** The number of the line that follows; undefined at the end of the text. */
  readonly nextLine: number | undefined;
}

/** Reads some lines of a text, and no further. A line that is too long for an answer is cut. */
export async function readLines(blocks: AsyncIterable<Uint8Array>, first: number, limit: number): Promise<Lines> {
  const reader = new LineReader(first, Math.min(limit, limits.linesRead));
  const decoder = new TextDecoder('utf-8');
  for await (const block of blocks) {
    if (block.includes(0)) throw new ExecError('invalidRequest', 'it is not a text file: it has NUL bytes');
    reader.push(decoder.decode(block, { stream: true }));
    if (reader.isFull) break;
  }
  reader.push(decoder.decode());
  return reader.lines();
}

class LineReader {
  readonly #first: number;
  readonly #last: number;
  #line = 1;
  #content = '';
  #isCut = false;
  #hasMore = false;

  constructor(first: number, count: number) {
    this.#first = first;
    this.#last = first + count - 1;
  }

  get isFull(): boolean {
    return this.#hasMore;
  }

  push(text: string): void {
    for (let at = 0; at < text.length && !this.#hasMore; ) {
      if (this.#line > this.#last || (this.#content.length >= limits.charactersRead && this.#content.endsWith('\n'))) {
        this.#hasMore = true;
        return;
      }
      const end = text.indexOf('\n', at);
      const next = end < 0 ? text.length : end + 1;
      if (this.#line >= this.#first) this.#take(text.slice(at, next));
      if (end >= 0) this.#endLine();
      at = next;
    }
  }

  lines(): Lines {
    if (this.#line < this.#first && !this.#hasMore) {
      throw new ExecError('invalidParams', `it has ${this.#line - 1} whole lines, so there is no line ${this.#first}`);
    }
    return { content: this.#content, nextLine: this.#hasMore ? this.#line : undefined };
  }

  #take(piece: string): void {
    if (this.#isCut) return;
    const room = limits.charactersRead - this.#content.length;
    this.#content += piece.slice(0, Math.max(room, 0));
    this.#isCut = piece.length > room;
  }

  #endLine(): void {
    if (this.#isCut) this.#content += '…\n';
    this.#isCut = false;
    this.#line++;
  }
}
