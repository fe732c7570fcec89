import type { FileMethod, NativePath, PathUri } from '../../protocol/index.ts';
import { fileOperations, pathBytes } from '../os/index.ts';

/** The operations of the engine (native/fs/engine.h): methods of the protocol, and those that only this program uses. */
export type FileOperation =
  | Named<FileMethod>
  | 'appendBlock'
  | 'inspect'
  | 'exchange'
  | 'protect'
  | 'hide'
  | 'mounted'
  | 'searchOn'
  | 'searchEnd';

type Named<M extends FileMethod> = M extends `fs/${infer Name}` ? Name : never;

export const fileFlags = {
  noFollow: 1,
  recursive: 2,
  force: 4,
  /** Refuse paths in procfs and the server's secrets. */
  guarded: 8,
  /** Postpone rather than wait for the disk. */
  atOnce: 16,
  replace: 32,
  followDirectories: 64,
  pruneHidden: 128,
  /** Give the device and inode of the file. */
  identity: 256,
  /** Tell links, or of a link itself. */
  links: 512,
  /** Open a file to write at its end, and create it if it is missing. */
  append: 1024,
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

/** The request as the engine takes it, without its payload. */
export function encodeFileRequest(request: FileRequest, id = 0): Buffer {
  const { operation, flags = 0, paths, numbers, payload } = request;
  const path = simplified(paths?.[0]?.toNative());
  const target = simplified(paths?.[1]?.toNative());
  const pathBytes = lengthInC(path);
  const targetBytes = lengthInC(target);
  const message = Buffer.allocUnsafe(HEAD_BYTES + pathBytes + targetBytes);
  head[0] = pathBytes + targetBytes + (payload?.length ?? 0);
  head[1] = id;
  head[2] = numberOf(operation) | (flags << 16);
  head[3] = pathBytes;
  setNumber(4, numbers?.[0]);
  setNumber(6, numbers?.[1]);
  setNumber(8, numbers?.[2]);
  head[10] = targetBytes;
  message.set(headBytes);
  put(message, path, HEAD_BYTES);
  put(message, target, HEAD_BYTES + pathBytes);
  return message;
}

/** A list of paths as the engine takes it. */
export const pathList = (paths: readonly string[]): Buffer => pathBytes(paths.map((path) => `${path}\0`).join(''));

/** The request and its payload in one message. */
export function encodeWhole(request: FileRequest, id = 0): Buffer {
  const message = encodeFileRequest(request, id);
  return request.payload?.length ? Buffer.concat([message, request.payload]) : message;
}

export function setFlags(message: Buffer, flags: number): void {
  message[10] = flags & 0xff;
  message[11] = flags >> 8;
}

/** The numbers of the operations, which the engine tells when the first request is made. */
const operationNumbers = new Map<string, number>();

function numberOf(operation: FileOperation): number {
  if (operationNumbers.size === 0) {
    for (const [name, number] of Object.entries(fileOperations())) operationNumbers.set(name, number);
  }
  const number = operationNumbers.get(operation);
  if (number === undefined) throw new Error(`the engine has no operation ${operation}`);
  return number;
}

const HEAD_BYTES = 48;

/** The head being written, as words and as bytes: faster than a call for each number, above all in the first thousand requests. */
const head = new Uint32Array(HEAD_BYTES / 4);
const headBytes = new Uint8Array(head.buffer);

function setNumber(at: number, number = 0): void {
  head[at] = number; // the low 32 bits
  head[at + 1] = Math.floor(number / 2 ** 32);
}

/** Without redundant slashes, at the end or after another, because some answers repeat the path. */
function simplified(path: NativePath | undefined): NativePath | undefined {
  if (path === undefined) return undefined;
  if (typeof path !== 'string') return Buffer.from(withSingleSlashes(Buffer.from(path).toString('latin1')), 'latin1');
  return withSingleSlashes(path);
}

function withSingleSlashes(path: string): string {
  if (!path.includes('//') && !path.endsWith('/')) return path;
  return path.replaceAll(/\/{2,}/g, '/').replace(/(?!^)\/$/, '');
}

/** Including the NUL at its end. */
function lengthInC(path: NativePath | undefined): number {
  if (path === undefined) return 0;
  return (typeof path === 'string' ? Buffer.byteLength(path) : path.length) + 1;
}

function put(message: Buffer, path: NativePath | undefined, at: number): void {
  if (path === undefined) return;
  if (typeof path === 'string') message.write(path, at);
  else message.set(path, at);
  message[at + lengthInC(path) - 1] = 0;
}
