import { type ExactCommand, type Limit, limitText } from './exact-command.ts';
import type { FileIdentity } from './file-identity.ts';

/** One report of the broker; docs/decisions/exec-broker.md describes the lines. */
export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'failed'; readonly step: string; readonly errno: number }
  | { readonly type: 'output'; readonly stream: 'stdout' | 'stderr'; readonly bytes: Buffer }
  | { readonly type: 'ended'; readonly stream: 'stdout' | 'stderr' }
  | { readonly type: 'exited'; readonly status: Ending }
  | {
      readonly type: 'asked';
      readonly id: number;
      readonly pid: number;
      readonly via: 'wrapper' | 'kernel';
      readonly block: Buffer;
    }
  | { readonly type: 'seen'; readonly id: number; readonly path: string; readonly argv: readonly string[] }
  | { readonly type: 'gone'; readonly id: number }
  | { readonly type: 'running'; readonly id: number; readonly pid: number }
  | { readonly type: 'unstarted'; readonly id: number; readonly step: string; readonly errno: number }
  | { readonly type: 'finished'; readonly id: number; readonly status: Ending }
  | { readonly type: 'swept'; readonly count: number }
  | { readonly type: 'noted'; readonly text: string };

/** How a process ended: with an exit code, or by a signal. */
export type Ending = { readonly code: number } | { readonly signal: number };

const LONGEST_LINE = 256;
const LARGEST_BLOCK = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Cuts the output of the broker into reports, however the bytes arrive. */
export class ReportReader {
  /** Copies of the bytes of an incomplete report. */
  #pieces: Buffer[] = [];
  #length = 0;
  /** Bytes needed before parsing is worth trying again. */
  #wanted = 1;

  /** The reports that are complete now. The bytes may be overwritten afterwards. */
  push(bytes: Buffer): Report[] {
    const reports: Report[] = [];
    let rest = this.#joined(bytes);
    while (rest !== undefined && rest.length >= this.#wanted) rest = this.#next(rest, reports);
    if (rest !== undefined && rest.length > 0) this.#keep(rest);
    return reports;
  }

  /** The bytes behind the kept ones; undefined while there are too few. */
  #joined(bytes: Buffer): Buffer | undefined {
    if (this.#length === 0) return bytes;
    this.#keep(bytes);
    if (this.#length < this.#wanted) return undefined;
    const joined = Buffer.concat(this.#pieces, this.#length);
    this.#pieces = [];
    this.#length = 0;
    return joined;
  }

  #keep(bytes: Buffer): void {
    this.#pieces.push(Buffer.from(bytes));
    this.#length += bytes.length;
  }

  /** Moves one report into `reports`, if it is complete; returns the bytes after it. */
  #next(received: Buffer, reports: Report[]): Buffer {
    const end = received.indexOf(NEWLINE);
    if (end >= LONGEST_LINE || (end < 0 && received.length >= LONGEST_LINE)) {
      throw new Error('the broker has written a line that is too long');
    }
    if (end < 0) {
      this.#wanted = received.length + 1;
      return received;
    }
    const words = received.toString('latin1', 0, end).split(' ');
    const blockLength = hasBlock.has(words[0]!) ? number(words.pop(), LARGEST_BLOCK) : 0;
    const whole = end + 1 + blockLength;
    if (received.length < whole) {
      this.#wanted = whole;
      return received;
    }
    this.#wanted = 1;
    reports.push(report(words, received.subarray(end + 1, whole)));
    return received.subarray(whole);
  }
}

const hasBlock = new Set(['output', 'asked', 'seen']);

function number(word: string | undefined, most = Number.MAX_SAFE_INTEGER): number {
  const value = Number(word);
  if (word === undefined || !/^\d+$/.test(word) || value > most) throw unknown(word ?? '');
  return value;
}

const unknown = (text: string): Error => new Error(`the broker has reported something unknown: ${text}`);

function stream(word: string | undefined): 'stdout' | 'stderr' {
  if (word !== '1' && word !== '2') throw unknown(word ?? '');
  return word === '1' ? 'stdout' : 'stderr';
}

function ending(kind: string | undefined, value: string | undefined): Ending {
  return kind === 'killed' ? { signal: number(value) } : { code: number(value) };
}

function report(words: readonly string[], block: Buffer): Report {
  const [type, first, second, third] = words;
  switch (type) {
    case 'ready':
      return { type };
    case 'started':
      return { type, pid: number(first) };
    case 'failed':
      return { type, step: first ?? '', errno: number(second) };
    case 'output':
      return { type, stream: stream(first), bytes: Buffer.from(block) };
    case 'ended':
      return { type, stream: stream(first) };
    case 'exited':
    case 'killed':
      return { type: 'exited', status: ending(type, first) };
    case 'asked':
      return {
        type,
        id: number(first),
        pid: number(second),
        via: third === 'kernel' ? 'kernel' : 'wrapper',
        block: Buffer.from(block),
      };
    case 'seen':
      return seen(number(first), block.toString().split('\0'));
    case 'gone':
      return { type, id: number(first) };
    case 'running':
      return { type, id: number(first), pid: number(second) };
    case 'unstarted':
      return { type, id: number(first), step: second ?? '', errno: number(third) };
    case 'finished':
      return { type, id: number(first), status: ending(second, third) };
    case 'swept':
      return { type, count: number(first) };
    case 'noted':
      return { type, text: words.slice(1).join(' ') };
    default:
      throw unknown(words.join(' '));
  }
}

/** Every string is ended by NUL, so that nothing follows the last. */
function seen(id: number, strings: readonly string[]): Report {
  return { type: 'seen', id, path: strings[0]!, argv: strings.slice(1, -1) };
}

/** The shell of a call, or the launcher of its sandbox. */
export interface ShellStart {
  /** The descriptor of the wrappers' socket in the shell, above every inherited one; `all` needs none. */
  readonly socket?: number;
  /**
   * `bash`: a patched shell reports its own execs. `all`: the kernel reports those of every descendant. `watched`: as `all`,
   * but the sandbox installs the filter, which reports refused calls as well.
   */
  readonly intercept: 'bash' | 'all' | 'watched';
  /** The shell's path as the launcher executes it: interception by the kernel begins with this exec. */
  readonly shell: string;
  readonly file: string;
  readonly argv: readonly string[];
  readonly cwd: string | Buffer;
  readonly env: Readonly<Record<string, string>>;
  /** How many of the broker's inherited descriptors the shell gets. */
  readonly inherited: number;
}

/** One order for the broker: a line, and a block where the order has one. */
export function order(words: readonly (string | number)[], block?: Uint8Array): Buffer {
  const line = [...words, ...(block === undefined ? [] : [block.length])].join(' ');
  return Buffer.concat([Buffer.from(`${line}\n`), ...(block === undefined ? [] : [block])]);
}

export function shellBlock(start: ShellStart): Buffer {
  const { socket = -1, intercept, shell, file, argv, cwd, env, inherited } = start;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return strings([
    String(socket),
    intercept,
    shell,
    String(inherited),
    cwd,
    file,
    String(argv.length),
    ...argv,
    ...variables,
  ]);
}

/** The files that must still be the judged ones when a command is started. */
export interface Pins {
  readonly program?: FileIdentity | undefined;
  readonly workdir?: FileIdentity | undefined;
}

export function commandBlock(command: ExactCommand, { program, workdir: folder }: Pins = {}): Buffer {
  const { workdir, file, umask, limits, argv, env } = command;
  return strings([
    workdir,
    file,
    umask === undefined ? '-' : umask.toString(8),
    pinText(program),
    pinText(folder),
    String(limits.length),
    ...limits.map((limit: Limit) => limitText(limit)),
    String(argv.length),
    ...argv,
    ...env,
  ]);
}

const pinText = (identity: FileIdentity | undefined): string =>
  identity === undefined ? '-' : `${identity.device}:${identity.inode}`;

const NUL = Buffer.alloc(1);

function strings(list: readonly (string | Uint8Array)[]): Buffer {
  const encoded = list.map((text) => (typeof text === 'string' ? Buffer.from(text) : text));
  if (encoded.some((bytes) => bytes.includes(0))) throw new Error('a string for the broker contains NUL');
  return Buffer.concat(encoded.flatMap((bytes) => [bytes, NUL]));
}
