/** The texts the reference shows for errors of the operating system (those of musl). */
const texts: Readonly<Record<number, string>> = {
  1: 'Operation not permitted',
  2: 'No such file or directory',
  5: 'I/O error',
  6: 'No such device or address',
  7: 'Argument list too long',
  8: 'Exec format error',
  9: 'Bad file descriptor',
  11: 'Resource temporarily unavailable',
  12: 'Out of memory',
  13: 'Permission denied',
  16: 'Resource busy',
  17: 'File exists',
  18: 'Cross-device link',
  19: 'No such device',
  20: 'Not a directory',
  21: 'Is a directory',
  22: 'Invalid argument',
  23: 'Too many open files in system',
  24: 'No file descriptors available',
  26: 'Text file busy',
  27: 'File too large',
  28: 'No space left on device',
  30: 'Read-only file system',
  31: 'Too many links',
  32: 'Broken pipe',
  36: 'Filename too long',
  39: 'Directory not empty',
  40: 'Symbolic link loop',
  95: 'Not supported',
  116: 'Stale file handle',
  122: 'Quota exceeded',
};

export function osErrorText(errno: number): string {
  return `${texts[errno] ?? 'Unknown error'} (os error ${errno})`;
}
