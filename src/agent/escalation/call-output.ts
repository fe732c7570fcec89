type Stream = 'stdout' | 'stderr';

interface Piece {
  readonly stream: Stream;
  readonly text: string;
}

/** The output of a call in order of arrival: its beginning and its end, when it is longer than the limit. */
export class CallOutput {
  readonly #half: number;
  readonly #decoders = { stdout: decoder(), stderr: decoder() };
  readonly #head: Piece[] = [];
  #headLength = 0;
  #tail: Piece[] = [];
  #tailLength = 0;
  #omitted = 0;

  /** The limit is in characters. */
  constructor(limit: number) {
    this.#half = Math.floor(limit / 2);
  }

  add(stream: Stream, bytes: Uint8Array): void {
    this.#keep(stream, this.#decoders[stream].decode(bytes, { stream: true }));
  }

  /** Ends both streams: a character that is not complete becomes U+FFFD. */
  end(): void {
    for (const stream of ['stdout', 'stderr'] as const) this.#keep(stream, this.#decoders[stream].decode());
  }

  get isTruncated(): boolean {
    return this.#omitted > 0;
  }

  /** The text of both streams, or of one. */
  text(stream?: Stream): string {
    const shown = (pieces: readonly Piece[]): string =>
      pieces.map((piece) => (stream === undefined || piece.stream === stream ? piece.text : '')).join('');
    const gap = this.isTruncated ? `\n[${this.#omitted} characters left out]\n` : '';
    return shown(this.#head) + gap + shown(this.#tail);
  }

  get pieces(): readonly Piece[] {
    return [...this.#head, ...this.#tail];
  }

  #keep(stream: Stream, text: string): void {
    const room = Math.min(this.#half - this.#headLength, text.length);
    if (room > 0) {
      append(this.#head, { stream, text: text.slice(0, room) });
      this.#headLength += room;
    }
    if (text.length === room) return;
    append(this.#tail, { stream, text: text.slice(room) });
    this.#tailLength += text.length - room;
    // Dropping piece by piece from the front would take time in proportion to the rest each time.
    if (this.#tailLength > 2 * this.#half) this.#cutTail();
  }

  #cutTail(): void {
    let surplus = this.#tailLength - this.#half;
    this.#omitted += surplus;
    this.#tailLength -= surplus;
    const from = this.#tail.findIndex(({ text }) => {
      if (text.length > surplus) return true;
      surplus -= text.length;
      return false;
    });
    this.#tail = this.#tail.slice(from);
    const [{ stream, text }] = this.#tail as [Piece];
    this.#tail[0] = { stream, text: text.slice(surplus) };
  }
}

const decoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

/** Pieces of one stream that follow each other are one: a program may print a character at a time. */
function append(pieces: Piece[], piece: Piece): void {
  const last = pieces.at(-1);
  if (last?.stream === piece.stream) pieces[pieces.length - 1] = { ...piece, text: last.text + piece.text };
  else pieces.push(piece);
}
