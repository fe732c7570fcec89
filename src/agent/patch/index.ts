export type { PatchOutcome } from './apply-patch.ts';
export { type ChangeOptions, changeFiles, type PlannedChange } from './change-files.ts';
export { PatchError } from './changes.ts';
export { applyPatchCommand, type PatchCommand, parsePatchCommand } from './command.ts';
export { CommitError, type WriteAccess } from './commit.ts';
export { parsePatch } from './parser.ts';
