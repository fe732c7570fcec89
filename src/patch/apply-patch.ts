import { posix } from 'node:path';
import type { Turnstile } from '../base/index.ts';
import { ExecError, type ExecutorFileSystem, type FileOptions, type Sandbox } from '../protocol/index.ts';
import { CommitError } from './commit.ts';
import { parsePatch } from './parser.ts';
import { type FileChange, PatchError } from './patch.ts';
import { StagedFiles } from './staged-files.ts';
import { editText } from './text-edit.ts';

export interface PatchOutcome {
  /** What the model is told. */
  readonly text: string;
  readonly success: boolean;
  readonly files: readonly PatchedFile[];
  /** What the filesystem said, if that is the reason. */
  readonly failure?: ExecError;
}

export interface PatchedFile {
  /** Added, modified or deleted. */
  readonly kind: 'A' | 'M' | 'D';
  /** As the patch spells it. */
  readonly path: string;
}

export interface PatchOptions extends FileOptions {
  /** Asked when it is certain what would be touched: the sandbox to write in, that of the options unless given. */
  readonly permit?: (paths: readonly string[]) => Promise<Sandbox | undefined>;
  /** Patches that share one are written one after the other, each on top of those before it. */
  readonly turns?: Turnstile;
}

/**
 * Applies a patch to files: all of it, or nothing and the reason. Paths are relative to `cwd`, which is absolute.
 * What the sandbox of the options forbids fails.
 */
export async function applyPatch(
  text: string,
  files: ExecutorFileSystem,
  cwd: string,
  options: PatchOptions = {},
): Promise<PatchOutcome> {
  let startedAt = performance.now();
  try {
    const { changes } = parsePatch(text);
    if (changes.length === 0) return refused('patch rejected: empty patch');
    let { sandbox } = options;
    if (options.permit) {
      const rehearsal = new StagedFiles(files, options);
      await stageAll(changes, rehearsal, cwd);
      sandbox = await options.permit(rehearsal.paths);
    }
    using _turn = await options.turns?.enter(options.signal);
    startedAt = performance.now();
    const staged = new StagedFiles(files, options); // files may have changed while somebody was asked
    const patched = await stageAll(changes, staged, cwd);
    await staged.commit(sandbox);
    return { text: answer(0, startedAt, summary(patched)), success: true, files: inOrder(patched) };
  } catch (error) {
    if (error instanceof PatchError) {
      return refused(`apply_patch verification failed: ${error.message}`, error.cause);
    }
    if (!(error instanceof CommitError)) throw error;
    return { text: answer(1, startedAt, describe(error)), success: false, files: [], failure: error.cause };
  }
}

async function stageAll(changes: readonly FileChange[], staged: StagedFiles, cwd: string): Promise<PatchedFile[]> {
  const patched: PatchedFile[] = [];
  for (const change of changes) patched.push(await stage(change, staged, cwd));
  return patched;
}

async function stage(change: FileChange, staged: StagedFiles, cwd: string): Promise<PatchedFile> {
  const path = posix.resolve(cwd, change.path);
  if (change.kind === 'add') {
    await readable(staged.write(path, change.content), `Failed to write file ${path}`);
    return { kind: 'A', path: change.path };
  }
  if (change.kind === 'delete') {
    await readable(staged.remove(path), `Failed to read ${path}`);
    return { kind: 'D', path: change.path };
  }
  const text = await readable(staged.read(path), `Failed to read file to update ${path}`);
  const edited = editText(text, change.chunks, path);
  const destination = posix.resolve(cwd, change.moveTo ?? change.path);
  await readable(staged.write(destination, edited), `Failed to write file ${destination}`);
  if (destination !== path) await staged.remove(path);
  return { kind: 'M', path: change.moveTo ?? change.path };
}

async function readable<T>(result: Promise<T>, failure: string): Promise<T> {
  try {
    return await result;
  } catch (error) {
    const cause = ExecError.from(error);
    throw new PatchError(`${failure}: ${cause.message}`, cause);
  }
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
  ['Success. Updated the following files:', ...inOrder(patched).map(({ kind, path }) => `${kind} ${path}`)].join('\n');

/** Added ones first, deleted ones last. */
const inOrder = (patched: readonly PatchedFile[]): PatchedFile[] =>
  (['A', 'M', 'D'] as const).flatMap((wanted) => patched.filter(({ kind }) => kind === wanted));

function describe({ message, cause, rollBackFailure }: CommitError): string {
  const rest = rollBackFailure
    ? `Putting back what was already written failed too: ${rollBackFailure.message}. Check the files of the patch.`
    : 'No files were modified.';
  return `${message}: ${cause.message}\n${rest}`;
}
