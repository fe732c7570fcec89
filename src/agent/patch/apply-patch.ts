import type { ExecError, ExecutorFileSystem } from '../../protocol/index.ts';
import { type ChangeOptions, changeFiles } from './change-files.ts';
import { type FileChange, PatchError } from './changes.ts';
import { CommitError } from './commit.ts';
import { parsePatch } from './parser.ts';

export interface PatchOutcome {
  /** The text for the model. */
  readonly text: string;
  readonly success: boolean;
  readonly files: readonly PatchedFile[];
  /** The error of the file system, where that is the reason. */
  readonly failure?: ExecError;
}

export interface PatchedFile {
  /** Added, modified or deleted. */
  readonly kind: 'A' | 'M' | 'D';
  /** As the patch spells it. */
  readonly path: string;
}

/**
 * Applies a patch to files: all of it, or nothing and the reason. Paths are relative to `cwd`, which is absolute.
 * What the sandbox of the options forbids fails.
 */
export async function applyPatch(
  text: string,
  files: ExecutorFileSystem,
  cwd: string,
  options: ChangeOptions = {},
): Promise<PatchOutcome> {
  let startedAt = performance.now();
  const { permit } = options;
  const permitThenStart: ChangeOptions['permit'] = async (planned) => {
    const access = await permit!(planned);
    startedAt = performance.now(); // the time of the question does not count
    return access;
  };
  try {
    const { changes } = parsePatch(text);
    if (changes.length === 0) return refused('patch rejected: empty patch');
    await changeFiles(changes, files, cwd, { ...options, ...(permit && { permit: permitThenStart }) });
    const patched = inOrder(changes.map(patchedBy));
    return { text: answer(0, startedAt, summary(patched)), success: true, files: patched };
  } catch (error) {
    if (error instanceof PatchError) {
      return refused(`apply_patch verification failed: ${error.message}`, error.cause);
    }
    if (!(error instanceof CommitError)) throw error;
    return { text: answer(1, startedAt, describe(error)), success: false, files: [], failure: error.cause };
  }
}

/** The line about a change in the answer, with the path as the patch spells it. */
function patchedBy(change: FileChange): PatchedFile {
  if (change.kind === 'update') return { kind: 'M', path: change.moveTo ?? change.path };
  return { kind: change.kind === 'add' ? 'A' : 'D', path: change.path };
}

const refused = (text: string, failure?: ExecError): PatchOutcome => ({
  text,
  success: false,
  files: [],
  ...(failure && { failure }),
});

function answer(exitCode: number, startedAt: number, output: string): string {
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  return `Exit code: ${exitCode}\nWall time: ${seconds} seconds\nOutput:\n${output}\n`;
}

const summary = (patched: readonly PatchedFile[]): string =>
  ['Success. Updated the following files:', ...patched.map(({ kind, path }) => `${kind} ${path}`)].join('\n');

/** Added files first, deleted files last. */
const inOrder = (patched: readonly PatchedFile[]): PatchedFile[] =>
  (['A', 'M', 'D'] as const).flatMap((wanted) => patched.filter(({ kind }) => kind === wanted));

function describe({ message, step, cause, rollBackFailure }: CommitError): string {
  if (step === 'create-directories' && !rollBackFailure) return message; // the reference's text, which has no more
  const rest = rollBackFailure
    ? `Putting back what was already written failed too: ${rollBackFailure.message}. Check the files of the patch.`
    : 'No files were modified.';
  return `${message}: ${cause.message}\n${rest}`;
}
