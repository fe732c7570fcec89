/** Words by which a program tells that the sandbox stopped it. */
const words =
  /operation not permitted|permission denied|read-only file system|seccomp|sandbox|landlock|failed to write file/i;

/** Whether a command did nothing that can be seen but be refused, so that running it again repeats nothing. */
export function showsOnlyDenial(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.every((line) => words.test(line));
}
