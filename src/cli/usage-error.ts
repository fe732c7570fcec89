/** A command line that makes no sense; ends the program with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** The words before `--help` where the right options are described; undefined for those of the command itself. */
  readonly program: string | undefined;

  constructor(message: string, program?: string) {
    super(message);
    this.program = program;
  }
}
