import { closeSync, openSync, readSync } from 'node:fs';
import { once } from '../../base/index.ts';

/** The platform that native files must be built for, such as `linux-x64-glibc`. */
export const platformName = once(() => `${process.platform}-${process.arch}-${libcOf('/proc/self/exe')}`);

/** A program names its loader in its first bytes, after the headers. */
const HEAD_BYTES = 4096;

/** The C library of a program, by its loader. A library that was built for the other one may load, and crash later. */
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
