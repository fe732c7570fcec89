import { createRequire } from 'node:module';
import { once } from '../../base/index.ts';
import { NativeFileMissing, nativeFile } from './native-file.ts';

/** The kinds of a child's three standard descriptors, by the addon's numbers. */
export const stdio = { nullInput: 0, openInput: 1, terminal: 2 } as const;

/** Added to those with pipes: stdout and stderr are one pipe. */
export const MERGED = 4;

/** The kinds of a child's events, by the addon's numbers. */
export const childEventKind = {
  output: 0,
  ended: 1,
  exited: 2,
  killed: 3,
  drained: 4,
  inputFailed: 5,
  released: 6,
  connected: 7,
} as const;

/** Events in order, five entries each: child, kind of the event, stream, value, decoded length of an output buffer. */
export type Batch = readonly (number | Buffer)[];

/** The functions of the native addon. A child is named by the number `spawn` returns until `released` is delivered. */
export interface Addon {
  /** The name of the first system call this kernel lacks, or an empty string. */
  probe(): string;
  /** Two connected descriptors, for a stream of bytes or for messages. */
  socketPair(stream: boolean): [number, number];
  /** Closes the descriptor after one message; resolves with the descriptors that came with it. */
  receiveDescriptors(fd: number): Promise<number[]>;
  /** Hardens the whole process; 0 or an error number. One inherited descriptor may be kept. Children get this soft limit of descriptors. */
  harden(keep: number, childFiles: number): number;
  /** Replaces this process by another program (execve); returns an error number if it cannot. The strings are NUL-terminated. */
  execute(argv: Buffer): number;
  /** Ends this process at once: no thread is waited for. */
  exitNow(code: number): never;
  start(deliver: (batch: Batch) => void, headroom: number, tailroom: number): void;
  /**
   * Lists are NUL-terminated strings; `cwd` is the directory, and its device and inode or `-`. Fills `report` with pid and errno;
   * returns the failed step if there is no child.
   */
  spawn(
    files: Buffer,
    argv: Buffer,
    env: Buffer,
    cwd: Buffer,
    io: number,
    rows: number,
    cols: number,
    mark: bigint,
    /** Whether the kernel kills the child when the thread that spawned it ends. */
    diesWithParent: boolean,
    inherit: readonly (number | Uint8Array)[],
    report: Int32Array,
    /** Bytes of a file, descriptor of a cgroup.procs, uid and gid, each -1 if there is none; then groups. */
    restrictions?: BigInt64Array,
  ): number | string;
  /**
   * Begins a connection to an address of 4 or 16 bytes and gives its number, which the other functions take like that of a child, or
   * a negative errno. `socket` is one that does not block and was made in another network, which is taken, or -1.
   */
  connectTcp(address: Uint8Array, port: number, socket: number): number;
  connectUnix(path: string): number;
  /** Returns the room of one taken chunk to the reader. */
  grant(child: number, stream: number, byteLength: number): void;
  /** Bytes still queued, or a negative errno. */
  write(child: number, bytes: Uint8Array): number;
  end(child: number): void;
  signal(child: number, signal: number): boolean;
  /** Gives a mark, and so a family, to a child that was spawned without one: 0 or an errno, ESRCH if it has ended. */
  join(child: number, mark: bigint): number;
  resize(child: number, rows: number, cols: number): number;
  /** Bit 0: canonical, bit 1: echo, bits 8 to 15: end-of-file character; or a negative errno. */
  terminalMode(child: number): number;
  closeOutputs(child: number): void;
  /** Whether the child keeps this process alive until it is released; it does from the start. */
  hold(child: number, held: boolean): void;
  /** Frees the memory of a chunk; the array buffer is empty afterwards. */
  release(memory: ArrayBufferLike): void;
  /** The bytes of base64 text in a part of a buffer; undefined if it is not strict base64. */
  decodeBase64(text: Uint8Array, start: number, end: number): Buffer | undefined;
  /** Writes `length` bytes of `source`, combined with a key of four bytes, to `target` at `offset`. */
  mask(source: Uint8Array, key: Uint8Array, target: Uint8Array, offset: number, length: number): void;
  /** Combines bytes with a key of four bytes, in place. */
  unmask(bytes: Uint8Array, key: Uint8Array): void;
  /** Sends one or two buffers on a socket without waiting; returns how many bytes the kernel took, -1 if it failed. */
  send(fd: number, bytes: Uint8Array, more: Uint8Array | undefined): number;
  /** Receives the bytes that have arrived on a socket, without waiting; returns how many, -1 at its end. */
  receive(fd: number, room: Uint8Array): number;
  /** The number of each operation of the file engine, by its name. */
  fileOperations(): Readonly<Record<string, number>>;
  /** Executes a request to the file engine (native/fs/engine.h), whose payload may be in a buffer of its own. */
  fileAnswer(request: Buffer, payload: Uint8Array | undefined): Buffer;
  /** `fileAnswer` on the thread pool. */
  fileAnswerLater(request: Buffer, payload: Uint8Array | undefined): Promise<Buffer>;
  /**
   * Kills families. Each triple is mark, mask and inode of a pid namespace; a mask or an inode of 0 selects no process. Resolves with
   * the number of processes killed for each triple.
   */
  sweep(triples: BigUint64Array): Promise<Uint32Array>;
  /** The processes with these marks, as pairs: number, and position of the mark. */
  members(marks: BigUint64Array): Promise<Int32Array>;
  /** The marks of all visible processes that agree with a mark in the bits of a mask. */
  marks(mark: bigint, mask: bigint): BigUint64Array;
  /** The first eight bytes in the buffer of a socket, if they have arrived. They stay there, with a descriptor that came with them. */
  receivedNumber(fd: number): bigint | undefined;
  /** How many bytes wait in a socket to be read; a negative errno if it is unknown. */
  unreadBytes(fd: number): number;
  /** Locks an open file or directory without waiting, exclusively or shared; returns whether it could. */
  lock(fd: number, alone: boolean): boolean;
  /** Whether a file has an extended attribute that is 1. Path and name are NUL-terminated. */
  hasAttribute(strings: Buffer): boolean;
  /** Shuts a socket down for the other end; bytes that have arrived here stay until it is closed. */
  hangUp(fd: number): void;
  /**
   * The socket at `peer` that is connected to `local`, both as 4 or 16 address bytes: user and inode, which is 0 if its
   * process has closed it, or a negative errno.
   */
  tcpPeer(peer: Uint8Array, peerPort: number, local: Uint8Array, localPort: number): [number, number] | number;
  /** The socket at the other end of a connected Unix socket: the user that connected and the inode, which is 0 if it is closed, or a negative errno. */
  unixPeer(fd: number): [number, number] | number;
  /** Opens something (network-namespace.ts) in another network namespace: a descriptor, or a negative errno. */
  openInNetwork(network: number, kind: number): number;
  /** Sends a datagram to a Unix socket, without waiting; the path of an abstract one begins with a NUL. 0 or an error number. */
  notify(path: Uint8Array, text: Uint8Array): number;
  /**
   * Searches for the processes that have sockets open, on a thread of its own. Marks are mark, mask, mark, mask, …: first of any
   * server of this product, then of this process. Resolves with the bits of native/peers/peers.h for each inode.
   */
  searchHolders(inodes: BigUint64Array, marks: BigUint64Array, outside: boolean): Promise<Uint32Array>;
}

/** The addon, loaded at the first use. */
export const addon = once(() => createRequire(import.meta.url)(nativeFile('exec_native.node')) as Addon);

/** `ready`, or the one-line reason why the addon cannot be used and the remedy. */
export function nativeStatus(): { ready: true } | { ready: false; reason: string } {
  if (process.platform !== 'linux')
    return { ready: false, reason: `processes need Linux, this is ${process.platform}` };
  try {
    const missing = addon().probe();
    return missing === ''
      ? { ready: true }
      : { ready: false, reason: `this kernel has no ${missing}: Linux 5.9 or newer is needed` };
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split('\n');
    const remedy = error instanceof NativeFileMissing ? error.remedy : 'run npm run build:native';
    return { ready: false, reason: `the native addon cannot be used (${line}): ${remedy}` };
  }
}
