import type { NativePath, PathUri } from '../protocol/index.ts';

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
  /** Sends a request to another engine and takes its answer: by descriptor and microseconds to wait. */
  exchange: 14,
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

/** The request as the engine takes it, but for its payload. */
export function encodeFileRequest(request: FileRequest, id = 0): Buffer {
  const { operation, flags = 0, paths = [], numbers = [], payload } = request;
  const [path, target] = paths;
  const message = withPaths(path?.toNative(), target?.toNative());
  message.writeUInt32LE(message.length - HEAD_BYTES + (payload?.length ?? 0), 0);
  message.writeUInt32LE(id, 4);
  message.writeUInt16LE(operations[operation], 8);
  setFlags(message, flags);
  for (let at = 0; at < numbers.length; at++) message.writeBigUInt64LE(BigInt(numbers[at]!), 16 + 8 * at);
  return message;
}

export function setFlags(message: Buffer, flags: number): void {
  message.writeUInt16LE(flags, 10);
}

const HEAD_BYTES = 48;
const NO_PATH = Buffer.alloc(0);

function withPaths(path: NativePath | undefined, target: NativePath | undefined): Buffer {
  const first = path === undefined ? NO_PATH : terminated(path);
  const second = target === undefined ? NO_PATH : terminated(target);
  const message = Buffer.allocUnsafe(HEAD_BYTES + first.length + second.length).fill(0, 0, HEAD_BYTES);
  message.writeUInt32LE(first.length, 12);
  message.writeUInt32LE(second.length, 40);
  first.copy(message, HEAD_BYTES);
  second.copy(message, HEAD_BYTES + first.length);
  return message;
}

/** The path as C wants it. A slash at the end says nothing that the rest does not. */
function terminated(path: NativePath): Buffer {
  const bytes = typeof path === 'string' ? Buffer.from(`${path}\0`) : Buffer.from([...path, 0]);
  let end = bytes.length - 1;
  while (end > 1 && bytes[end - 1] === SLASH) end--;
  bytes[end] = 0;
  return bytes.subarray(0, end + 1);
}

const SLASH = 0x2f;
