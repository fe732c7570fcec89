// The most frequent messages are written without JSON.stringify, which takes 25 times as long for a chunk of 64 KiB: base64 needs
// no escaping, so a message is a prefix, the text that the addon encoded, and a suffix.
import { concatBytes, encodeUtf8 } from '../../base/index.ts';
import type { OutputStream } from '../os/index.ts';
import type { NumberedChunk } from './retained-output.ts';

/** Writes the notifications with the output of one process or connection. */
export class OutputFrames {
  readonly #opening: string;

  /** The owner is the member that names the process or connection. */
  constructor(method: string, owner: Readonly<Record<string, string>>) {
    this.#opening = `{"method":"${method}","params":${JSON.stringify(owner).slice(0, -1)},"seq":`;
  }

  /** The whole notification, completed in place where the room before the text suffices. */
  notification({ seq, stream, chunk }: NumberedChunk<OutputStream | undefined>): Uint8Array {
    const prefix = `${this.#opening}${numbered(seq, stream)}`;
    const { buffer, start, end } = chunk;
    const at = start - prefix.length;
    // Only ASCII has as many bytes as characters.
    if (at >= 0 && end + SUFFIX.length <= buffer.length && isAscii(prefix)) {
      buffer.write(prefix, at, 'latin1');
      buffer.write(SUFFIX, end, 'latin1');
      return buffer.subarray(at, end + SUFFIX.length);
    }
    return concatBytes([encodeUtf8(prefix), buffer.subarray(start, end), encodeUtf8(SUFFIX)]);
  }
}

const SUFFIX = '"}}';

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

/** The members of a chunk from its number to the beginning of its text. */
function numbered(seq: number, stream: OutputStream | undefined): string {
  return stream === undefined ? `${seq},"chunk":"` : `${seq},"stream":"${stream}","chunk":"`;
}

/** The JSON text of a `process/read` or `net/read` result: chunks as they were encoded, then the other members. */
export function readResultParts(
  chunks: readonly NumberedChunk<OutputStream | undefined>[],
  rest: Readonly<Record<string, unknown>>,
): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let opening = '{"chunks":[';
  for (const { seq, stream, chunk } of chunks) {
    parts.push(encodeUtf8(`${opening}{"seq":${numbered(seq, stream)}`));
    parts.push(chunk.buffer.subarray(chunk.start, chunk.end));
    opening = '"},';
  }
  const closing = chunks.length > 0 ? '"}],' : `${opening}],`;
  parts.push(encodeUtf8(`${closing}${JSON.stringify(rest).slice(1)}`));
  return parts;
}
