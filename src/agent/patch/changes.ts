import type { ExecError } from '../../protocol/index.ts';

/** What a patch wants done to one file. */
export type FileChange =
  | { readonly kind: 'add'; readonly path: string; readonly content: string }
  | { readonly kind: 'delete'; readonly path: string }
  | {
      readonly kind: 'update';
      readonly path: string;
      readonly moveTo: string | undefined;
      readonly chunks: readonly Chunk[];
    };

/** One place in a file, found by its context, and what becomes of it. */
export interface Chunk {
  /** A line somewhere above the place, such as the head of the function it is in. */
  readonly context: string | undefined;
  readonly edits: readonly Edit[];
  /** The place is the end of the file. */
  readonly isAtEnd: boolean;
}

export interface Edit {
  readonly kind: 'keep' | 'add' | 'remove';
  readonly line: string;
}

export interface Patch {
  /** Where the files are, if the patch says so. */
  readonly environmentId: string | undefined;
  readonly changes: readonly FileChange[];
}

/** A patch that cannot be applied; the message is for whoever wrote it, the cause what the filesystem said. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
  override readonly cause: ExecError | undefined;

  constructor(message: string, cause?: ExecError) {
    super(message);
    this.cause = cause;
  }
}
