/* Calls that not every C library has: close_range (glibc since 2.34), struct statx and preadv2 (musl since 1.2.5). */
#ifndef EXEC_CALLS_H
#define EXEC_CALLS_H

#include <linux/close_range.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef STATX_TYPE
#include <linux/stat.h> /* together with a sys/stat.h that has the struct it would define it twice */
#endif

/* close_range */
static inline int close_between(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* preadv2 */
static inline ssize_t read_into(int fd, const struct iovec *parts, size_t count, off_t offset, int flags)
{
    return syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags);
}

#endif
