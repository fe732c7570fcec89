import { basename } from 'node:path';
import { decodeBase64, decodeLatin1 } from '../../base/index.ts';
import type { Denial } from '../../protocol/index.ts';
import type { OutputStream } from '../os/index.ts';
import { type Confined, KILLED_BY_FILTER, looksDenied } from '../sandbox/index.ts';
import type { NumberedChunk, NumberedOutput } from '../stream/index.ts';

/** What the sandbox of a process refused, and whether that made the process fail. */
export class SandboxVerdict {
  readonly #confined: Confined | undefined;
  readonly #output: NumberedOutput;
  readonly #program: string;

  constructor(confined: Confined | undefined, output: NumberedOutput, argv: readonly string[]) {
    this.#confined = confined;
    this.#output = output;
    this.#program = basename(argv[0] ?? '');
  }

  /** Whether output that is not read yet may show that the sandbox was the reason for an exit. */
  needsLastOutput(exitCode: number): boolean {
    return !this.#record && this.#isPossible(exitCode);
  }

  /** By the refusals of the sandbox if they are recorded, or else by the output. */
  wasDenied(exitCode: number): boolean {
    if (!this.#isPossible(exitCode)) return false;
    const record = this.#record;
    if (!record) return looksDenied(exitCode, this.#output.all().map(decodedPiece));
    if (exitCode === KILLED_BY_FILTER) record.addKilled(this.#program);
    return record.denials.length > 0;
  }

  /** The refusals; undefined if they are unknown. */
  get denials(): Denial[] | undefined {
    const known = this.#confined && !this.#confined.refused ? this.#record?.denials : [];
    return known && [...known];
  }

  #isPossible(exitCode: number): boolean {
    return exitCode !== 0 && this.#confined !== undefined && !this.#confined.refused;
  }

  /** The record of the refusals, if all of them are in it. */
  get #record(): Confined['record'] {
    const record = this.#confined?.record;
    return record?.isIncomplete ? undefined : record;
  }
}

function decodedPiece({ stream, chunk }: NumberedChunk): { stream: OutputStream; bytes: Uint8Array } {
  return { stream, bytes: decodeBase64(decodeLatin1(chunk.buffer, chunk.start, chunk.end)) };
}
