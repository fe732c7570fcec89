import { posix } from 'node:path';
import type { Mutex } from '../../base/index.ts';
import { ExecError, type ExecutorFileSystem, type FileOptions } from '../../protocol/index.ts';
import { type Edit, type FileChange, PatchError } from './changes.ts';
import type { WriteAccess } from './commit.ts';
import { StagedFiles } from './staged-files.ts';
import { editText } from './text-edit.ts';

/** The change of one file, for the user who is asked about it. Paths are absolute. */
export interface PlannedChange {
  readonly kind: 'add' | 'update' | 'delete' | 'move';
  readonly path: string;
  /** The new path of a moved file. */
  readonly movedTo?: string;
  /** Added, removed and kept lines, each behind its sign; all lines of a new file. */
  readonly diff: readonly string[];
}

export interface ChangeOptions extends FileOptions {
  /** Called with the planned changes before anything is written; tells how to write each file. Default: in the sandbox of the options. */
  readonly permit?: (changes: readonly PlannedChange[]) => Promise<WriteAccess>;
  /** Changes with the same mutex are written one after the other, each on top of those before it. */
  readonly mutex?: Mutex;
}

/** Makes all changes, or none and throws a `PatchError` or a `CommitError`. Paths are relative to `cwd`, which is absolute. */
export async function changeFiles(
  changes: readonly FileChange[],
  files: ExecutorFileSystem,
  cwd: string,
  { permit, mutex, ...options }: ChangeOptions = {},
): Promise<void> {
  const planned = permit && (await stageAll(changes, new StagedFiles(files, options), cwd));
  const access = planned ? await permit(planned) : () => ({ sandbox: options.sandbox });
  using _turn = await mutex?.lock(options.signal);
  const staged = new StagedFiles(files, options); // files may have changed while the user was asked
  await stageAll(changes, staged, cwd);
  await staged.commit(access);
}

async function stageAll(changes: readonly FileChange[], staged: StagedFiles, cwd: string): Promise<PlannedChange[]> {
  const planned: PlannedChange[] = [];
  for (const change of changes) planned.push(await stage(change, staged, cwd));
  return planned;
}

async function stage(change: FileChange, staged: StagedFiles, cwd: string): Promise<PlannedChange> {
  const path = posix.resolve(cwd, change.path);
  const diff = diffOf(change);
  if (change.kind === 'add') {
    const isNew = await readable(staged.write(path, change.content), `Failed to write file ${path}`);
    return { kind: isNew ? 'add' : 'update', path, diff };
  }
  if (change.kind === 'delete') {
    await readable(staged.remove(path), `Failed to read ${path}`);
    return { kind: 'delete', path, diff };
  }
  const text = await readable(staged.read(path), `Failed to read file to update ${path}`);
  const edited = editText(text, change.chunks, path);
  const destination = posix.resolve(cwd, change.moveTo ?? change.path);
  await readable(staged.write(destination, edited), `Failed to write file ${destination}`);
  if (destination === path) return { kind: 'update', path, diff };
  await staged.remove(path);
  return { kind: 'move', path, movedTo: destination, diff };
}

async function readable<T>(result: Promise<T>, failure: string): Promise<T> {
  try {
    return await result;
  } catch (error) {
    const cause = ExecError.from(error);
    throw new PatchError(`${failure}: ${cause.message}`, cause);
  }
}

const SIGNS: Readonly<Record<Edit['kind'], string>> = { keep: ' ', add: '+', remove: '-' };

function diffOf(change: FileChange): string[] {
  if (change.kind === 'delete') return [];
  if (change.kind === 'add') return change.content === '' ? [] : linesOf(change.content).map((line) => `+${line}`);
  return change.chunks.flatMap(({ context, edits }) => [
    context === undefined ? '@@' : `@@ ${context}`,
    ...edits.map(({ kind, line }) => SIGNS[kind] + line),
  ]);
}

const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n');
