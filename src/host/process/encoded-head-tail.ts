import { concatBytes, decodeBase64, decodeLatin1 } from '../../base/index.ts';
import type { EncodedChunk } from '../os/index.ts';

/** Like `HeadTail` in `base`, for base64 chunks, which are decoded only when they are read: most never are. */
export class EncodedHeadTail {
  readonly #half: number;
  readonly #onDropped: (chunk: EncodedChunk) => void;
  readonly #head: Piece[] = [];
  #headBytes = 0;
  readonly #tail: Piece[] = [];
  #tailBytes = 0;
  #totalBytes = 0;

  constructor(limitBytes: number, onDropped: (chunk: EncodedChunk) => void = () => {}) {
    this.#half = Math.floor(limitBytes / 2);
    this.#onDropped = onDropped;
  }

  add(chunk: EncodedChunk): void {
    this.#totalBytes += chunk.byteLength;
    if (this.#headBytes < this.#half) this.#headBytes += append(this.#head, chunk);
    // A chunk that crosses the middle is in both halves; `snapshot` cuts it.
    if (this.#totalBytes > this.#half) this.#tailBytes += append(this.#tail, chunk);
    while (this.#tail.length > 1 && this.#tailBytes - this.#tail[0]!.byteLength >= this.#half) this.#dropOldest();
    if (isSmall(chunk)) this.#onDropped(chunk);
  }

  snapshot(): { bytes: Uint8Array; omittedBytes: number } {
    const head = concatBytes(this.#head.map(rawBytes)).subarray(0, this.#half);
    const afterHead = this.#totalBytes - head.length;
    const tailBytes = Math.min(this.#half, afterHead);
    const tail = tailBytes === 0 ? new Uint8Array(0) : concatBytes(this.#tail.map(rawBytes)).subarray(-tailBytes);
    return { bytes: concatBytes([head, tail]), omittedBytes: afterHead - tailBytes };
  }

  #dropOldest(): void {
    const oldest = this.#tail.shift()!;
    this.#tailBytes -= oldest.byteLength;
    if (!(oldest instanceof Pack) && oldest !== this.#head.at(-1)) this.#onDropped(oldest);
  }
}

type Piece = EncodedChunk | Pack;

/** Small chunks in one array: as single objects, the chunks of a process that prints a byte at a time take 600 times the memory. */
class Pack {
  readonly #room = new Uint8Array(PACK_BYTES);
  byteLength = 0;

  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.byteLength);
  }

  hasRoom(byteLength: number): boolean {
    return this.byteLength + byteLength <= PACK_BYTES;
  }

  add(bytes: Uint8Array): void {
    this.#room.set(bytes, this.byteLength);
    this.byteLength += bytes.length;
  }
}

const PACK_BYTES = 4096;
const isSmall = (chunk: EncodedChunk): boolean => chunk.byteLength <= PACK_BYTES / 4;

/** Returns the number of bytes appended. */
function append(pieces: Piece[], chunk: EncodedChunk): number {
  if (!isSmall(chunk)) pieces.push(chunk);
  else openPack(pieces, chunk.byteLength).add(rawBytes(chunk));
  return chunk.byteLength;
}

function openPack(pieces: Piece[], byteLength: number): Pack {
  const last = pieces.at(-1);
  if (last instanceof Pack && last.hasRoom(byteLength)) return last;
  const pack = new Pack();
  pieces.push(pack);
  return pack;
}

function rawBytes(piece: Piece): Uint8Array {
  return piece instanceof Pack ? piece.bytes : decodeBase64(decodeLatin1(piece.buffer, piece.start, piece.end));
}
