// Whether a command failed because of its sandbox can only be guessed, from its output.

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
  if (texts.some((text) => KEYWORDS.some((keyword) => text.includes(keyword)))) return true;
  return exitCode === KILLED_BY_FILTER;
}

/** One line by the launcher or the stage and nothing else: the command never ran. */
function isLaunchersOwn(text: string): boolean {
  return /^(exec-server|bwrap): [^\n]*\r?\n$/.test(text);
}

function textOf(printed: Printed): string {
  return Buffer.concat(printed.map(({ bytes }) => bytes))
    .toString('latin1')
    .toLowerCase();
}
