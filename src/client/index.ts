export { ExecError as ExecServerError, type FileChange, type FileChanges } from '../protocol/index.ts';
export { ConnectionLost } from '../rpc/index.ts';
export type { NotificationListener, RequestListener } from './client-service.ts';
export type { Connector } from './connection.ts';
export type { ConnectionState } from './connection-state.ts';
export { InputRefusedError, OutputGapError, StreamClosedError, StreamGapError, UnsupportedError } from './errors.ts';
export { ExecServerClient, type ExecServerClientConnectOptions, type ListedProcess } from './exec-server-client.ts';
export { failureReason } from './failure-reason.ts';
export { FileWatch, type WatchOptions } from './files/file-watch.ts';
export { RemoteFileSystem } from './files/remote-file-system.ts';
export type { OutputChunk } from './output-buffer.ts';
export type { ProcessExit, ProcessState } from './process-state.ts';
export {
  type Collected,
  type CollectOptions,
  type Communicated,
  type ProcessSnapshot,
  RemoteProcess,
  type WaitOptions,
} from './remote-process.ts';
export type { PreparedStartOptions, StartOptions } from './start-options.ts';
export { type ListeningPort, PortStream, type PortTarget } from './streams/port-stream.ts';
