// Whether a command failed because of its sandbox can only be guessed from its output.

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

/** What a process printed, in the order it came. */
export type Printed = readonly { readonly stream: 'stdout' | 'stderr' | 'pty'; readonly bytes: Uint8Array }[];

export function looksDenied(exitCode: number, printed: Printed): boolean {
  if (exitCode === 0) return false;
  const texts = [
    printed,
    printed.filter(({ stream }) => stream === 'stderr'),
    printed.filter(({ stream }) => stream !== 'stderr'),
  ].map(textOf);
  if (isLaunchersOwn(texts[0]!)) return false;
  if (texts.some(hasKeyword)) return true;
  return exitCode === KILLED_BY_FILTER;
}

/** Whether the output is nothing but denials, so that running the command again repeats nothing that can be seen. */
export function showsOnlyDenial(text: string): boolean {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.every((line) => hasKeyword(line.toLowerCase()));
}

/** The output without the lines of a shell about an exec that was refused with EPERM. */
export function withoutRefusedExecs(text: string): string {
  return text.replace(/^.*: Operation not permitted$/gm, '');
}

const hasKeyword = (text: string): boolean => KEYWORDS.some((keyword) => text.includes(keyword));

/** One line by the launcher or the stage and nothing else: the command never ran. */
function isLaunchersOwn(text: string): boolean {
  return /^(exec-server|bwrap): [^\n]*\r?\n$/.test(text);
}

function textOf(printed: Printed): string {
  return Buffer.concat(printed.map(({ bytes }) => bytes))
    .toString('latin1')
    .toLowerCase();
}
