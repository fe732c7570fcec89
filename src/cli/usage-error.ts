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

/** Reads the value of a flag; an error of its parser is wrong usage. */
export function readFlag<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
