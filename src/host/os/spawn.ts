import { constants } from 'node:os';
import { MERGED, stdio } from './addon.ts';
import type { Child, ChildIo } from './child.ts';
import { errorName } from './error-name.ts';
import { NativeChild } from './native-child.ts';
import { reactor } from './reactor.ts';

/** What a child may not have, or not share with this process. */
export interface Restrictions {
  /** The most bytes of a file that it writes: RLIMIT_FSIZE. */
  readonly fileBytes?: number | undefined;
  /** An open `cgroup.procs`: it joins the group before it does anything else. */
  readonly cgroup?: number | undefined;
  /** Another user; only root can. */
  readonly user?: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] } | undefined;
}

/** A command that has no family mark yet. */
export interface Command {
  /** Non-empty; the first is the program to look up. */
  readonly argv: readonly string[];
  /** The `argv[0]` that the child sees. */
  readonly arg0?: string;
  readonly cwd: string | Buffer;
  /** Device and inode of the directory that `cwd` must lead to. */
  readonly cwdIdentity?: string | undefined;
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly io: ChildIo;
  /** The child's descriptors from 3 on: open descriptors of this process, or bytes to read from an unnamed file. */
  readonly inherit?: readonly (number | Uint8Array)[];
  readonly restrictions?: Restrictions | undefined;
  /** Sends a signal other than SIGKILL instead of `kill` for the child's process group. Returns false if it cannot. */
  readonly deliverSignal?: ((signal: number) => boolean) | undefined;
}

export interface SpawnOptions extends Command {
  /** The family mark of the child; 0n for no family. */
  readonly mark: bigint;
}

/** Thrown when a child could not be started: the kernel's error, and the step that failed. */
export class SpawnError extends Error {
  override readonly name = 'SpawnError';
  readonly errno: number;
  /** The name of `errno`, such as ENOENT. */
  readonly code: string;
  readonly step: string;

  constructor(errno: number, step: string, subject: string) {
    const code = errorName(errno);
    super(`${step} ${subject}: ${code}`);
    this.errno = errno;
    this.code = code;
    this.step = step;
  }
}

/**
 * Starts a process. Throws SpawnError.
 * A program without a slash is searched in the PATH of the child's own environment, one with a slash is relative to `cwd`.
 */
export function spawn(options: SpawnOptions): Child {
  return start(options, true);
}

/** Starts a process that may outlive this one. */
export function spawnSurvivor(options: SpawnOptions): NativeChild {
  return start(options, false);
}

function start(options: SpawnOptions, diesWithParent: boolean): NativeChild {
  const { argv, arg0, cwd, cwdIdentity, env, io, mark } = options;
  const program = argv[0] ?? '';
  const { addon } = reactor();
  const terminal = io.type === 'pty';
  const report = new Int32Array(2);
  const child = addon.spawn(
    strings(candidates(program, env.PATH), program),
    strings([arg0 ?? program, ...argv.slice(1)], program),
    strings(
      Object.entries(env).map(([name, value]) => `${name}=${value}`),
      program,
    ),
    Buffer.concat([
      typeof cwd === 'string' ? strings([cwd], program) : terminated(cwd, program),
      strings([cwdIdentity ?? '-'], program),
    ]),
    stdioOf(io),
    terminal ? io.rows : 0,
    terminal ? io.cols : 0,
    mark,
    diesWithParent,
    options.inherit ?? [],
    report,
    options.restrictions && numbersOf(options.restrictions),
  );
  if (typeof child === 'string')
    throw new SpawnError(report[1]!, child, child === 'chdir' || child === 'workdir' ? String(cwd) : program);
  return new NativeChild(reactor(), child, report[0]!, options);
}

const numbersOf = ({ fileBytes = -1, cgroup = -1, user }: Restrictions): BigInt64Array =>
  BigInt64Array.from([fileBytes, cgroup, user?.uid ?? -1, user?.gid ?? -1, ...(user?.groups ?? [])].map(BigInt));

function stdioOf(io: ChildIo): number {
  if (io.type === 'pty') return stdio.terminal;
  return (io.stdin === 'open' ? stdio.openInput : stdio.nullInput) + (io.stderr === 'stdout' ? MERGED : 0);
}

/** The path that libc searches if the environment has no PATH. */
export const DEFAULT_PATH = '/usr/local/bin:/bin:/usr/bin';

/** The files to try, in order. */
export function candidates(program: string, path = DEFAULT_PATH): string[] {
  if (program === '' || program.includes('/')) return [program];
  return path.split(':').map((folder) => (folder === '' ? program : `${folder}/${program}`));
}

/** Strings, each ended by NUL. */
function strings(list: readonly string[], program: string): Buffer {
  if (list.some((text) => text.includes('\0'))) throw nulInside(program);
  return Buffer.from(list.map((text) => `${text}\0`).join(''));
}

function terminated(bytes: Buffer, program: string): Buffer {
  if (bytes.includes(0)) throw nulInside(program);
  return Buffer.concat([bytes, Buffer.alloc(1)]);
}

function nulInside(program: string): SpawnError {
  return new SpawnError(constants.errno.EINVAL, 'encode', program.replaceAll('\0', '\\0'));
}
