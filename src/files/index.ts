export type { ResultText } from './file-answer.ts';
export { FileService, type FileServiceOptions } from './file-service.ts';
export type { PlainFileMethod } from './wire-requests.ts';
