export { applyPatch, type PatchedFile, type PatchOptions, type PatchOutcome } from './apply-patch.ts';
export { parsePatch } from './parser.ts';
export { type Chunk, type Edit, type FileChange, type Patch, PatchError } from './patch.ts';
export { applyPatchCommand, type PatchCommand, parsePatchCommand } from './patch-command.ts';
