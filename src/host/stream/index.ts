export type { ClientAudience } from './client-audience.ts';
export { ClosedRetention } from './closed-retention.ts';
export { InputBudget } from './input-budget.ts';
export { NumberedOutput } from './numbered-output.ts';
export { OutputFrames, readResultParts } from './output-frames.ts';
export { RepeatableWrites } from './repeatable-writes.ts';
export type { NumberedChunk } from './retained-output.ts';
