import type { PathUri } from '../protocol/index.ts';

/** What the filesystem engine can do; the numbers are the engine's (native/fs-engine.h). */
export const operations = {
  readFile: 0,
  writeFile: 1,
  createDirectory: 2,
  getMetadata: 3,
  canonicalize: 4,
  readDirectory: 5,
  walk: 6,
  remove: 7,
  copy: 8,
  open: 9,
  readBlock: 10,
  writeBlock: 11,
  close: 12,
} as const;

export type FileOperation = keyof typeof operations;

export const fileFlags = {
  noFollow: 1,
  recursive: 2,
  force: 4,
  /** Nothing in procfs. */
  guarded: 8,
  /** Refuse rather than wait. */
  atOnce: 16,
  replace: 32,
  followDirectories: 64,
  pruneHidden: 128,
} as const;

/** One request for the engine. */
export interface FileRequest {
  readonly operation: FileOperation;
  readonly flags?: number;
  readonly paths?: readonly PathUri[];
  /** Three at most; what they mean depends on the operation. */
  readonly numbers?: readonly number[];
  readonly payload?: Uint8Array | undefined;
}

const HEAD_BYTES = 48;

/** The request as the engine takes it, but for its payload. */
export function encodeFileRequest(request: FileRequest, id = 0): Buffer {
  const { operation, flags = 0, paths = [], numbers = [], payload } = request;
  const [path = NO_PATH, target = NO_PATH] = paths.map(nativeBytes);
  const message = Buffer.allocUnsafe(HEAD_BYTES + path.length + target.length).fill(0, 0, HEAD_BYTES);
  message.writeUInt32LE(path.length + target.length + (payload?.length ?? 0), 0);
  message.writeUInt32LE(id, 4);
  message.writeUInt16LE(operations[operation], 8);
  message.writeUInt16LE(flags, 10);
  message.writeUInt32LE(path.length, 12);
  numbers.forEach((number, index) => message.writeBigUInt64LE(BigInt(number), 16 + 8 * index));
  message.writeUInt32LE(target.length, 40);
  path.copy(message, HEAD_BYTES);
  target.copy(message, HEAD_BYTES + path.length);
  return message;
}

const NO_PATH = Buffer.alloc(0);

/** The path as C wants it. A slash at the end says nothing that the rest does not. */
function nativeBytes(uri: PathUri): Buffer {
  const path = uri.toNative();
  const bytes = typeof path === 'string' ? Buffer.from(`${path}\0`) : Buffer.from([...path, 0]);
  let end = bytes.length - 1;
  while (end > 1 && bytes[end - 1] === SLASH) end--;
  bytes[end] = 0;
  return bytes.subarray(0, end + 1);
}

const SLASH = 0x2f;
