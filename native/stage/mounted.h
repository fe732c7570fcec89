/* Checks that the mounts of a view are in place: commands may move directories while bubblewrap mounts on them. */
#ifndef EXEC_MOUNTED_H
#define EXEC_MOUNTED_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "../shared/calls.h"
#include "../shared/pin.h"

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000 /* Linux 5.8 */
#endif

/* Whether a directory belongs to another user: commands cannot search or change it either. */
static inline bool mounted_is_foreign(int directory)
{
    struct stat status;
    return fstat(directory, &status) == 0 && status.st_uid != geteuid();
}

/* Opens a path in one call; -1 if that fails or does not exist (before Linux 5.6): mounted_open then finds the reason. */
static inline int mounted_open_at_once(const char *path)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Opens an absolute path without following links; -2 if a directory of another user may not be searched, -1 for other errors. */
static inline int mounted_open(const char *path)
{
    int whole = mounted_open_at_once(path);
    if (whole >= 0)
        return whole;
    char name[NAME_MAX + 1];
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && *(path += strspn(path, "/")) != '\0') {
        size_t length = strcspn(path, "/");
        if (length > NAME_MAX) {
            close(fd);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        int next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), failure = errno;
        int closed = next < 0 && failure == EACCES && mounted_is_foreign(fd) ? -2 : -1;
        close(fd);
        errno = failure;
        if (next < 0)
            return closed;
        fd = next;
        path += length;
    }
    return fd;
}

/* 0 if something is mounted at the path, without links on the way, and it is the pinned file; else -1. */
static inline int mounted_check(const char *path, const struct pin *pin)
{
    struct statx found;
    int fd = mounted_open(path);
    if (fd < 0)
        return fd == -2 ? 0 : -1;
    long outcome = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &found);
    close(fd);
    if (outcome < 0)
        return -1;
    errno = ESTALE;
    if (found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT && !(found.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return -1;
    bool same = makedev(found.stx_dev_major, found.stx_dev_minor) == pin->device && found.stx_ino == pin->inode;
    return !pin->set || same ? 0 : -1;
}

/* Paths and pins in turn, each ended by NUL: 0 if all are mounted, else -1. */
static inline int mounted_check_all(const char *at, size_t length)
{
    const char *end = at + length;
    struct pin pin;
    errno = EINVAL;
    if (length == 0 || end[-1] != '\0')
        return -1;
    while (at < end) {
        const char *path = at, *text = path + strlen(path) + 1;
        if (text >= end || !pin_read(text, &pin) || mounted_check(path, &pin) < 0)
            return -1;
        at = text + strlen(text) + 1;
    }
    return 0;
}

#endif
