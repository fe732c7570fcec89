/*
 * Read before every file of a release build, which is made for C libraries older and other than that of the machine: what they
 * lack, and what they and the kernel's headers both define.
 */
#ifndef RELEASE_H
#define RELEASE_H
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define _LINUX_STAT_H /* sys/stat.h has struct statx already */

/* In glibc since 2.34, and not in musl. */
static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}
#endif
