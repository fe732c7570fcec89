export type { FileAccessOptions } from './access.ts';
export { LocalFileSystem, type LocalFileSystemOptions } from './local-file-system.ts';
export { FileService, type FileServiceOptions } from './service.ts';
export { SessionFiles, type SessionFilesOptions } from './session-files.ts';
export type { PlainFileMethod } from './wire-requests.ts';
