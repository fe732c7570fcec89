import { concatBytes, type HeadTail } from '../../../base/index.ts';
import { lossyText } from './lossy-text.ts';

/** The kept output of a command as text, with a note in place of omitted bytes. */
export interface OutputText {
  readonly text: string;
  readonly totalBytes: number;
  readonly omittedBytes: number;
}

/** The note for omitted bytes, as the reference words it. */
export const omissionText = (bytes: number): string => `... ${bytes} bytes omitted ...`;

/** The kept output of a command, with a note in place of omitted bytes. */
export function markedBytes({ head, tail, omittedBytes }: HeadTail): Uint8Array {
  const mark = omittedBytes > 0 ? [Buffer.from(`\n${omissionText(omittedBytes)}\n`)] : [];
  return concatBytes([head, ...mark, tail]);
}

export function outputText(kept: HeadTail): OutputText {
  return { text: lossyText(markedBytes(kept)), totalBytes: kept.totalBytes, omittedBytes: kept.omittedBytes };
}
