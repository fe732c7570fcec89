import type { ExecError } from '../../protocol/index.ts';

/** The change of one file that a patch describes. */
export type FileChange =
  | { readonly kind: 'add'; readonly path: string; readonly content: string }
  | { readonly kind: 'delete'; readonly path: string }
  | {
      readonly kind: 'update';
      readonly path: string;
      readonly moveTo: string | undefined;
      readonly chunks: readonly Chunk[];
    };

/** The edits at one place in a file, which is found by its context. */
export interface Chunk {
  /** A line somewhere above the place, such as the head of the function it is in. */
  readonly context: string | undefined;
  readonly edits: readonly Edit[];
  /** The edits are at the end of the file. */
  readonly isAtEnd: boolean;
}

export interface Edit {
  readonly kind: 'keep' | 'add' | 'remove';
  readonly line: string;
}

export interface Patch {
  /** The environment of the files, where the patch names one. */
  readonly environmentId: string | undefined;
  readonly changes: readonly FileChange[];
}

/** A patch that cannot be applied. The message is for the model; the cause is the error of the file system, if there is one. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
  override readonly cause: ExecError | undefined;

  constructor(message: string, cause?: ExecError) {
    super(message);
    this.cause = cause;
  }
}
