import type { Report } from './broker-protocol.ts';
import { type ExactCommand, type Limit, limitAmount, limitNames } from './exact-command.ts';

type AskedReport = Extract<Report, { type: 'asked' }>;

/** An exec that waits for a decision. */
export interface ExecRequest {
  readonly id: number;
  /** The process that asks. */
  readonly pid: number;
  readonly via: 'wrapper' | 'kernel';
  /** For rules and questions; always derived from `exact`, which is what would be started. */
  readonly file: string;
  readonly argv: readonly string[];
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly exact: ExactCommand;
  /** Whether the text members of the request differ from its `raw` bytes, which count. */
  readonly contradictory: boolean;
}

/** Parses a request; undefined when it is malformed. A sandboxed command can forge everything a wrapper sends. */
export function execRequest({ id, pid, via, block }: Omit<AskedReport, 'type'>): ExecRequest | undefined {
  const read = via === 'wrapper' ? fromWrapper(block) : fromKernel(block);
  if (read === undefined || !isComplete(read.exact) || (via === 'wrapper' && hasNul(read.exact))) return undefined;
  const { exact, contradictory } = read;
  return {
    id,
    pid,
    via,
    file: exact.file.toString(),
    argv: exact.argv.map(String),
    workdir: exact.workdir.toString(),
    get env() {
      return variables(exact.env);
    },
    exact,
    contradictory,
  };
}

function isComplete({ file, argv, workdir }: ExactCommand): boolean {
  return argv.length > 0 && file.length > 0 && workdir[0] === SLASH;
}

/** The kernel's strings end at NUL and so contain none; those of a wrapper's JSON can. */
function hasNul({ file, argv, workdir, env }: ExactCommand): boolean {
  return [file, workdir, ...argv, ...env].some((bytes) => bytes.includes(0));
}

const SLASH = 0x2f;

/** The first of two variables with one name counts, as it does for programs. */
function variables(env: readonly Buffer[]): Record<string, string> {
  const found: Record<string, string> = Object.create(null);
  for (const entry of env.map(String)) {
    const separator = entry.indexOf('=', 1);
    if (separator > 0) found[entry.slice(0, separator)] ??= entry.slice(separator + 1);
  }
  return found;
}

interface ParsedBlock {
  readonly exact: ExactCommand;
  readonly contradictory: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((element) => typeof element === 'string');

function fromWrapper(block: Buffer): ParsedBlock | undefined {
  const fields = parsed(block);
  if (!isObject(fields)) return undefined;
  const plain = plainCommand(fields);
  if (plain === undefined) return undefined;
  if (fields.raw === undefined || fields.raw === null) return { exact: plain, contradictory: false };
  const raw = isObject(fields.raw) ? rawCommand(fields.raw, plain) : undefined;
  return raw && { exact: raw, contradictory: !agree(plain, raw) };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parsed(block: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(block));
  } catch {
    return undefined; // neither UTF-8 nor JSON: not a request
  }
}

function plainCommand({ file, argv, workdir, env, umask, rlimits }: Fields): ExactCommand | undefined {
  if (typeof file !== 'string' || typeof workdir !== 'string' || !isStrings(argv) || !isObject(env)) return undefined;
  const entries = Object.entries(env);
  if (!isStrings(entries.map(([, value]) => value))) return undefined;
  return {
    file: Buffer.from(file),
    argv: argv.map((text) => Buffer.from(text)),
    workdir: Buffer.from(workdir),
    env: entries.map(([name, value]) => Buffer.from(`${name}=${value}`)),
    umask: typeof umask === 'number' && Number.isInteger(umask) && umask >= 0 && umask <= 0o7777 ? umask : undefined,
    get limits() {
      return isObject(rlimits) ? Object.entries(rlimits).flatMap(([name, pair]) => limitOf(name, pair)) : [];
    },
  };
}

function limitOf(name: string, pair: unknown): Limit[] {
  if (!limitNames.includes(name) || !Array.isArray(pair) || pair.length !== 2) return [];
  const soft = limitAmount(pair[0]);
  const hard = limitAmount(pair[1]);
  return soft === undefined || hard === undefined ? [] : [{ name, soft, hard }];
}

function rawCommand({ file, argv, workdir, env }: Fields, plain: ExactCommand): ExactCommand | undefined {
  if (typeof file !== 'string' || typeof workdir !== 'string' || !isStrings(argv) || !isStrings(env)) return undefined;
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
  return { ...plain, file: bytes(file), argv: argv.map(bytes), workdir: bytes(workdir), env: env.map(bytes) };
}

function agree(plain: ExactCommand, raw: ExactCommand): boolean {
  const text = ({ file, workdir, argv }: ExactCommand): string => JSON.stringify([file, workdir, ...argv].map(String));
  return text(plain) === text(raw);
}

/** Parses what the broker has read out of the caller's memory: variables and limits, which few decisions need, on first use. */
function fromKernel(block: Buffer): ParsedBlock | undefined {
  const strings = new Strings(block);
  const [workdir, file, umask] = strings.take(5); // the last two are pins, which only orders have
  const limits = strings.take(strings.number());
  const argv = strings.take(strings.number());
  if (workdir === undefined || file === undefined) return undefined;
  const exact = {
    file,
    workdir,
    argv,
    umask: Number.parseInt(String(umask), 8),
    get env() {
      return strings.rest();
    },
    get limits() {
      return limits.flatMap(limitIn);
    },
  };
  return { exact, contradictory: false };
}

function limitIn(text: Buffer): Limit[] {
  const [name = '', ...pair] = String(text).split(' ');
  return limitOf(name, pair);
}

/** Strings, each ended by NUL. */
class Strings {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  /** The next strings, fewer at the end of the block. */
  take(count: number): Buffer[] {
    const list: Buffer[] = [];
    while (list.length < count) {
      const end = this.#block.indexOf(0, this.#at);
      if (end < 0) break;
      list.push(this.#block.subarray(this.#at, end));
      this.#at = end + 1;
    }
    return list;
  }

  /** The next string as a number, zero for any other text. */
  number(): number {
    const [text] = this.take(1);
    return Number(text) || 0;
  }

  /** All strings that follow, without moving on. */
  rest(): Buffer[] {
    return new Strings(this.#block.subarray(this.#at)).take(Number.POSITIVE_INFINITY);
  }
}
