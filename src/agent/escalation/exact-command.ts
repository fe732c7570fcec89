/** A command in bytes, as paths, arguments and variables need not be UTF-8. */
export interface ExactCommand {
  /** As the caller gave it; relative to `workdir` unless absolute. */
  readonly file: Buffer;
  /** Begins with the name of the program; never empty. */
  readonly argv: readonly Buffer[];
  readonly workdir: Buffer;
  /** `NAME=VALUE`, in order. */
  readonly env: readonly Buffer[];
  readonly umask: number | undefined;
  readonly limits: readonly Limit[];
}

/** A resource limit by the name the shell's `ulimit` documentation and `limits.h` share. */
export interface Limit {
  readonly name: string;
  readonly soft: LimitAmount;
  readonly hard: LimitAmount;
}

export type LimitAmount = bigint | 'unlimited';

export const limitNames: readonly string[] = [
  ...['as', 'core', 'cpu', 'data', 'fsize', 'locks', 'memlock', 'msgqueue', 'nice', 'nofile', 'nproc', 'rss'],
  ...['rtprio', 'sigpending', 'stack'],
];

/** A limit as the broker reads it. */
export const limitText = ({ name, soft, hard }: Limit): string => `${name} ${soft} ${hard}`;

/** Parses a limit; undefined for an amount that the kernel would not take. */
export function limitAmount(text: unknown): LimitAmount | undefined {
  if (text === 'unlimited') return text;
  if (typeof text !== 'string' || !/^\d{1,20}$/.test(text)) return undefined;
  const amount = BigInt(text);
  return amount < 2n ** 64n ? amount : undefined;
}
