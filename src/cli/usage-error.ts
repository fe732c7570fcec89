/** A wrong command line; ends the program with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** The command whose `--help` describes the options; undefined for the command that was run. */
  readonly program: string | undefined;

  constructor(message: string, program?: string) {
    super(message);
    this.program = program;
  }
}

/** Reports on stderr the error that ended a program; returns the exit code. */
export function reportError(error: unknown, program: string): number {
  const isUsage = error instanceof UsageError;
  const hint = isUsage ? `\n\nFor more information, try '${error.program ?? program} --help'.` : '';
  process.stderr.write(`${isUsage ? 'error' : 'Error'}: ${(error as Error).message}${hint}\n`);
  return isUsage ? 2 : 1;
}

/** Reads the value of a flag; an error of its parser is wrong usage. */
export function readFlag<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
