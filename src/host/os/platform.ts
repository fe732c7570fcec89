import { closeSync, openSync, readSync } from 'node:fs';
import { once } from '../../base/index.ts';

/** What native files have to be built for to be of use here, such as `linux-x64-glibc`. */
export const platformName = once(() => `${process.platform}-${process.arch}-${libcOf('/proc/self/exe')}`);

/** Where a program names its loader, behind the headers. */
const HEAD_BYTES = 4096;

/** The C library of a program, by its loader: a library made for the other one may load as well, and crash later. */
export function libcOf(program: string): 'glibc' | 'musl' {
  const head = Buffer.alloc(HEAD_BYTES);
  const fd = openSync(program, 'r');
  try {
    readSync(fd, head, 0, HEAD_BYTES, 0);
  } finally {
    closeSync(fd);
  }
  return head.includes('/ld-musl-') ? 'musl' : 'glibc';
}
