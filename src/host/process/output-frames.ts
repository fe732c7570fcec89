// The most frequent messages are written without JSON.stringify, which takes 25 times as long for a chunk of 64 KiB: base64 needs
// no escaping, so a message is a prefix, the text that the addon encoded, and a suffix.
import { concatBytes, encodeUtf8 } from '../../base/index.ts';
import type { EncodedChunk, OutputStream } from '../os/index.ts';
import type { NumberedChunk } from './retained-output.ts';

/** Writes `process/output` notifications of one process. */
export class OutputFrames {
  readonly #opening: string;

  constructor(processId: string) {
    this.#opening = `{"method":"process/output","params":{"processId":${JSON.stringify(processId)},"seq":`;
  }

  /** The whole notification, completed in place where the room before the text suffices. */
  notification(seq: number, stream: OutputStream, chunk: EncodedChunk): Uint8Array {
    const prefix = `${this.#opening}${seq},"stream":"${stream}","chunk":"`;
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

/** The JSON text of a `process/read` result: chunks as they were encoded, then the other members. */
export function readResultParts(
  chunks: readonly NumberedChunk[],
  rest: Readonly<Record<string, unknown>>,
): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let opening = '{"chunks":[';
  for (const { seq, stream, chunk } of chunks) {
    parts.push(encodeUtf8(`${opening}{"seq":${seq},"stream":"${stream}","chunk":"`));
    parts.push(chunk.buffer.subarray(chunk.start, chunk.end));
    opening = '"},';
  }
  const closing = chunks.length > 0 ? '"}],' : `${opening}],`;
  parts.push(encodeUtf8(`${closing}${JSON.stringify(rest).slice(1)}`));
  return parts;
}
