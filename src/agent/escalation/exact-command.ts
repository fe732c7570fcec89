/** A command to the byte: paths, arguments and variables need not be text. */
export interface ExactCommand {
  /** As the caller gave it: a relative one belongs to `workdir`. */
  readonly file: Buffer;
  /** With the name the program is to see for itself; never empty. */
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

/** Undefined unless it is an amount the kernel knows. */
export function limitAmount(text: unknown): LimitAmount | undefined {
  if (text === 'unlimited') return text;
  if (typeof text !== 'string' || !/^\d{1,20}$/.test(text)) return undefined;
  const amount = BigInt(text);
  return amount < 2n ** 64n ? amount : undefined;
}
