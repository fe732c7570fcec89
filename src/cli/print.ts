/** Writes the whole output of a command; returns the exit code for success. */
export function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
