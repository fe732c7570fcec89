// Guesses from its output whether a command failed because of its sandbox.

const KEYWORDS = [
  'operation not permitted',
  'permission denied',
  'read-only file system',
  'seccomp',
  'sandbox',
  'landlock',
  'failed to write file',
];

/** Killed by SIGSYS, for a forbidden system call. */
export const KILLED_BY_FILTER = 159;

/** The output of a process, in the order of arrival. */
export type OutputPieces = readonly { readonly stream: 'stdout' | 'stderr' | 'pty'; readonly bytes: Uint8Array }[];

export function looksDenied(exitCode: number, output: OutputPieces): boolean {
  if (exitCode === 0) return false;
  const texts = [
    output,
    output.filter(({ stream }) => stream === 'stderr'),
    output.filter(({ stream }) => stream !== 'stderr'),
  ].map(textOf);
  if (isLauncherError(texts[0]!)) return false;
  if (texts.some(hasKeyword)) return true;
  return exitCode === KILLED_BY_FILTER;
}

/** Whether every line of the output is a denial, so that running the command again repeats no other output. */
export function showsOnlyDenial(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.every((line) => hasKeyword(line.toLowerCase()));
}

/** The output without the lines that a shell prints about an exec that was refused with EPERM. */
export function withoutRefusedExecs(text: string): string {
  return text.replace(/^.*: Operation not permitted$/gm, '');
}

const hasKeyword = (text: string): boolean => KEYWORDS.some((keyword) => text.includes(keyword));

/** Whether the output is one line of the launcher or the stage: the command never ran. */
function isLauncherError(text: string): boolean {
  return /^(exec-server|bwrap): [^\n]*\r?\n$/.test(text);
}

function textOf(output: OutputPieces): string {
  return Buffer.concat(output.map(({ bytes }) => bytes))
    .toString('latin1')
    .toLowerCase();
}
