import { limits } from '../limits.ts';
import { boundaryAfter, boundaryBefore } from './lossy-text.ts';
import { type OutputText, omissionText } from './output-text.ts';

/** Fits a text into a number of tokens: its middle is replaced by a note of how much is missing. */
export function cutMiddle(text: string, tokens: number): string {
  const bytes = Buffer.from(text);
  const budget = tokens * limits.bytesPerToken;
  return bytes.length <= budget ? text : twoEnds(bytes, budget);
}

export const tokensOf = (bytes: number): number => Math.ceil(bytes / limits.bytesPerToken);

/** Fits output into a number of tokens. Where its middle is left out, a heading tells the original size. */
export function fitOutput(output: OutputText, tokens: number): string {
  const bytes = Buffer.from(output.text);
  const budget = tokens * limits.bytesPerToken;
  if (bytes.length <= budget) return output.text;
  const body = twoEnds(bytes, budget);
  const original = tokensOf(output.omittedBytes > 0 ? output.totalBytes : bytes.length);
  const heading = `Warning: truncated output (original token count: ${original})\n`;
  return `${heading}${secondLine(output, body)}\n${body}`;
}

function secondLine({ text, omittedBytes }: OutputText, body: string): string {
  if (omittedBytes === 0) return `Total output lines: ${lineCount(text)}\n`;
  const mark = omissionText(omittedBytes);
  return body.includes(mark) ? '' : `${mark}\n`;
}

function twoEnds(bytes: Buffer, budget: number): string {
  const left = bytes.subarray(0, boundaryBefore(bytes, Math.floor(budget / 2)));
  const right = bytes.subarray(boundaryAfter(bytes, bytes.length - Math.ceil(budget / 2)));
  return `${left}…${tokensOf(bytes.length - budget)} tokens truncated…${right}`;
}

/** A newline at the end does not begin another line. */
export function lineCount(text: string): number {
  const ends = text.split('\n').length - 1;
  return text === '' || text.endsWith('\n') ? ends : ends + 1;
}
