/*
 * Read before every file of a release build, which is made for C libraries older and other than that of the machine: what they
 * lack, and what they and the kernel's headers both define.
 */
#ifndef RELEASE_H
#define RELEASE_H
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define _LINUX_STAT_H /* sys/stat.h has struct statx already */

/* In glibc since 2.34, and not in musl. */
static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

#if !defined(__GLIBC__)
/* In musl since 1.2.5, which not every Alpine in use has. */
static inline ssize_t preadv2_by_kernel(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
    return syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags);
}
#define preadv2 preadv2_by_kernel
#endif
#endif
