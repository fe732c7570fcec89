/*
 * Finds out whether the kernel will refuse a call because of the sandbox, by asking the kernel about the same path in the same view,
 * with the permissions of commands. If the path changes between the question and the call, the report is wrong; the call is decided
 * by the kernel in any case.
 */
#define _GNU_SOURCE
#include "denials.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#include "../shared/calls.h"

#ifndef ST_RDONLY
#define ST_RDONLY 1
#endif
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

/* A descriptor that stands for the path, or -1. */
static int reach(const struct view *view, const char *path, int flags)
{
    if (!view->other_root)
        return open(path, O_PATH | O_CLOEXEC | flags);
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/root", (int)view->thread);
    int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how), error = errno;
    close(root);
    errno = error;
    return fd;
}

static bool is_read_only(int fd)
{
    struct statfs status;
    return fstatfs(fd, &status) == 0 && (status.f_flags & ST_RDONLY) != 0;
}

/* 0, or the error of writing to the file there. */
static int write_error(int fd)
{
    return syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 ? 0 : errno;
}

static bool parent_of(const char *path, char *parent)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length == 0)
        return false;
    while (length > 1 && path[length - 1] == '/')
        length--;
    memcpy(parent, path, length);
    parent[length] = '\0';
    return true;
}

/*
 * Whether the sandbox is the reason for a missing permission: if the nearest reachable directory is read-only, or if commands would
 * have had the capabilities of root without it. Not for a file of the workspace that its owner has made read-only.
 */
static bool is_sandboxed(const struct view *view, const char *path)
{
    char at[LONGEST_SUBJECT];
    if (geteuid() == 0)
        return true;
    strcpy(at, path);
    for (;;) {
        int fd = reach(view, at, O_NOFOLLOW);
        if (fd >= 0) {
            bool sealed = is_read_only(fd);
            close(fd);
            return sealed;
        }
        if (strcmp(at, "/") == 0 || !parent_of(at, at))
            return false;
    }
}

static enum forecast judge(const struct view *view, const char *path, int error)
{
    if (error == EROFS)
        return REFUSED;
    if (error == EACCES)
        return is_sandboxed(view, path) ? REFUSED : GOES_ON;
    return error == ENOENT ? MISSING : GOES_ON;
}

static enum forecast forecast_parent(const struct view *view, const char *path)
{
    char parent[LONGEST_SUBJECT];
    if (!parent_of(path, parent))
        return GOES_ON;
    int fd = reach(view, parent, O_DIRECTORY);
    if (fd < 0)
        return judge(view, parent, errno);
    int error = write_error(fd);
    close(fd);
    return judge(view, parent, error);
}

enum forecast forecast_write(const struct view *view, const char *path)
{
    int fd = reach(view, path, 0);
    if (fd < 0)
        return judge(view, path, errno);
    int error = write_error(fd);
    close(fd);
    return judge(view, path, error);
}

static bool is_directory(const struct view *view, const char *path)
{
    int fd = reach(view, path, O_DIRECTORY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool is_there(const struct view *view, const char *path)
{
    int fd = reach(view, path, O_NOFOLLOW);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

enum forecast forecast_open(const struct view *view, const char *path, uint64_t flags)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
    bool creates = (flags & O_CREAT) != 0;
    enum forecast there = GOES_ON;
    if (writes)
        there = forecast_write(view, path);
    else if (!is_there(view, path))
        there = MISSING;
    if (there == REFUSED && (flags & O_TMPFILE) != O_TMPFILE && is_directory(view, path))
        return GOES_ON; /* EISDIR */
    if (there == REFUSED && creates && (flags & O_EXCL) != 0 && is_there(view, path))
        return GOES_ON; /* EEXIST */
    return there == MISSING && creates ? forecast_parent(view, path) : there;
}

enum forecast forecast_make(const struct view *view, const char *path)
{
    enum forecast parent = forecast_parent(view, path);
    return parent == REFUSED && is_there(view, path) ? GOES_ON : parent;
}

/* A mount in the view can be neither removed nor renamed. */
static enum forecast forecast_mounted(const struct view *view, const char *path)
{
    struct statx status;
    int fd = reach(view, path, O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? MISSING : GOES_ON;
    long outcome = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, 0, &status);
    close(fd);
    return outcome == 0 && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 ? REFUSED : GOES_ON;
}

enum forecast forecast_remove(const struct view *view, const char *path)
{
    enum forecast parent = forecast_parent(view, path);
    if (parent == GOES_ON)
        return forecast_mounted(view, path);
    return parent == REFUSED && !is_there(view, path) ? MISSING : parent;
}

enum forecast forecast_change(const struct view *view, const char *path)
{
    int fd = reach(view, path, 0);
    if (fd < 0)
        return judge(view, path, errno);
    bool sealed = is_read_only(fd);
    close(fd);
    return sealed ? REFUSED : GOES_ON;
}

bool is_socket(const struct view *view, const char *path)
{
    struct stat status;
    int fd = reach(view, path, 0);
    if (fd < 0)
        return false;
    bool is = fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
    close(fd);
    return is;
}
