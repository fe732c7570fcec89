export { isLarge, type ResultText, releaseResult } from './file-answer.ts';
export { FileService, type FileServiceOptions } from './file-service.ts';
export { LocalFileSystem, type LocalFileSystemOptions } from './local-file-system.ts';
export type { PlainFileMethod } from './wire-requests.ts';
