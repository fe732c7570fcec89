export {
  isLarge,
  osError,
  parseResult,
  type ResultText,
  releaseResult,
  resultOf,
  resultText,
  searchGoesOn,
} from './answer.ts';
export { ANSWER_LIMIT_MS, EngineChannel } from './channel.ts';
export { type Engine, usuallyInstant } from './engine.ts';
export { endOf, type HelperEnd } from './helper-end.ts';
export { firstAnswer, Inspection, type PathStatus, pathStatusOf } from './inspection.ts';
export { directEngine, guardedEngine } from './local-engine.ts';
export { encodeWhole, type FileRequest, fileFlags, pathList } from './request.ts';
