export type { PatchOutcome } from './apply-patch.ts';
export { type ChangeOptions, changeFiles, type PlannedChange } from './change-files.ts';
export { CommitError, type WriteAccess } from './commit.ts';
export { parsePatch } from './parser.ts';
export { PatchError } from './patch.ts';
export { applyPatchCommand, type PatchCommand, parsePatchCommand } from './patch-command.ts';
