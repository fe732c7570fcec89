export { nativeStatus } from './addon.ts';
export { decodeBase64Part } from './base64.ts';
export { pathBytes, pathText } from './byte-path.ts';
export {
  type Child,
  type ChildEvent,
  type ChildInput,
  type ChildIo,
  type EncodedChunk,
  type ExitStatus,
  type OutputStream,
  outputStreams,
} from './child.ts';
export { HEADROOM, releaseChunk, TAILROOM } from './chunk.ts';
export {
  DescriptorChannel,
  lock,
  receivedNumber,
  receiveNow,
  shutDown,
  streamPair,
  unreadBytes,
} from './descriptors.ts';
export { errorName } from './error-name.ts';
export { osErrorText } from './error-text.ts';
export { familyPids, killFamily, rememberSandbox } from './family.ts';
export { familyMark, ownSessions, PROCESS_MASK, SERVER_MASK, SESSION_MASK } from './family-mark.ts';
export {
  claimServerNumber,
  nextOwnMark,
  ownServerNumber,
  processMarks,
  serverNumbersInUse,
  sessionNumbers,
} from './family-numbers.ts';
export {
  ANSWER_ROOM_AFTER,
  ANSWER_ROOM_BEFORE,
  fileAnswer,
  fileAnswerLater,
  fileOperations,
  hasAttribute,
} from './files.ts';
export { startGuardian } from './guardian.ts';
export { hardenProcess } from './harden.ts';
export { exitNow, runUnderInit } from './init.ts';
export { isWorthReleasing, release } from './memory.ts';
export {
  type ExecServerRuntimePaths,
  foldersAbove,
  isReleasedPackage,
  nativeFile,
  nativeFolders,
  useRuntimePaths,
} from './native-file.ts';
export { type PeerSocket, peerSockets, type TcpEnd } from './peer-sockets.ts';
export { platformName } from './platform.ts';
export { notifyServiceManager } from './service-manager.ts';
export { sendNow, sendToSocket } from './socket-send.ts';
export { type ListeningPort, listeningHere } from './sockets/listening-ports.ts';
export {
  ConnectError,
  type Connection,
  type ConnectionEvent,
  type ConnectTarget,
  connect,
} from './sockets/native-connection.ts';
export { NetworkNamespace } from './sockets/network-namespace.ts';
export {
  type Command,
  candidates,
  DEFAULT_PATH,
  type Restrictions,
  SpawnError,
  type SpawnOptions,
  spawn,
} from './spawn.ts';
export { mask } from './websocket-masks.ts';
