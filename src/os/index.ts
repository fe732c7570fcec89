export { nativeFile, nativeStatus } from './addon.ts';
export type { Child, ChildEvent, ChildInput, ExitStatus, OutputChunk, OutputStream } from './child.ts';
export { HEADROOM, releaseChunk, TAILROOM } from './chunk.ts';
export { osErrorText } from './error-text.ts';
export { familyMark, killFamily, PROCESS_MASK, SERVER_MASK, SESSION_MASK } from './family.ts';
export { ANSWER_ROOM_AFTER, ANSWER_ROOM_BEFORE, fileAnswer, fileAnswerLater } from './files.ts';
export { startGuardian } from './guardian.ts';
export { candidates, SpawnError, type SpawnOptions, spawn } from './spawn.ts';
