/* Opens paths: following links or not, with or without waiting, with or without procfs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "engine.h"
#include "protect.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif

static int open_resolving(int directory, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .mode = flags & O_CREAT ? mode : 0, .resolve = resolve};
    long fd;
    do
        fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && errno == EINVAL && resolve & RESOLVE_CACHED)
        return -EAGAIN; /* the kernel does not support lookups in its cache alone */
    if (fd < 0 && errno == ENOSYS && (resolve & ~(uint64_t)RESOLVE_CACHED) == 0)
        fd = openat(directory, path, (int)how.flags, mode); /* some containers block openat2, which is not needed here */
    return fd < 0 ? -errno : (int)fd;
}

/* Paths, with and without links, each ended by NUL, the last one empty. Never freed, as another thread may still use a replaced list. */
static _Atomic(char *) hidden;

void fs_hide(const struct fs_request *request, struct fs_answer *answer)
{
    char *paths = calloc(1, request->payload_length + 2);
    if (paths == NULL)
        return fs_fail_errno(answer, ENOMEM);
    memcpy(paths, request->payload, request->payload_length);
    atomic_store(&hidden, paths);
    fs_puts(answer, "{}");
}

/*
 * Whether an open file has a hidden path, lies below one, or is the file that a hidden path leads to now. True if its path is
 * unknown.
 */
static bool is_hidden(int fd)
{
    const char *paths = atomic_load(&hidden);
    char link[32], path[PATH_MAX];
    struct stat its, other;
    if (paths == NULL || paths[0] == '\0')
        return false;
    if (fstat(fd, &its) < 0)
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return true;
    path[length] = '\0';
    for (; *paths != '\0'; paths += strlen(paths) + 1) {
        size_t prefix = strlen(paths);
        if (strncmp(path, paths, prefix) == 0 && (path[prefix] == '\0' || path[prefix] == '/'))
            return true;
        if (stat(paths, &other) == 0 && other.st_ino == its.st_ino && other.st_dev == its.st_dev)
            return true;
    }
    return false;
}

int fs_check_guard(const struct fs_request *request, int fd)
{
    struct statfs filesystem;
    if (!(request->flags & FS_GUARDED))
        return 0;
    if (fstatfs(fd, &filesystem) < 0)
        return -errno;
    return filesystem.f_type == PROC_SUPER_MAGIC || is_hidden(fd) ? -EACCES : 0;
}

static bool resolves(const char *path, uint64_t resolve)
{
    int fd = open_resolving(AT_FDCWD, path, O_PATH, 0, resolve);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/*
 * Opens the file of an O_PATH descriptor for reading, unless O_PATH is enough. Not devices and pipes, as opening one may have an
 * effect. Closes the descriptor, or returns it.
 */
static int open_named(const struct fs_request *request, int fd, int flags)
{
    struct stat status;
    int outcome = fs_check_guard(request, fd);
    if (outcome == 0 && flags & O_PATH)
        return fd;
    if (outcome == 0 && fstat(fd, &status) < 0)
        outcome = -errno;
    if (outcome == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode))
        outcome = -ENXIO;
    if (outcome == 0) {
        char again[32];
        snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
        outcome = open_resolving(AT_FDCWD, again, flags & ~O_NOFOLLOW, 0, 0);
    }
    close(fd);
    return outcome;
}

/* Checks the file of a path before opening it, as opening some files of procfs has an effect. */
static int open_guarded(const struct fs_request *request, const char *path, int flags, uint64_t resolve)
{
    int fd = open_resolving(AT_FDCWD, path, O_PATH | (flags & (O_NOFOLLOW | O_DIRECTORY)), 0, resolve | RESOLVE_NO_MAGICLINKS);
    if (fd == -ELOOP && resolves(path, resolve))
        return -EACCES; /* through a magic link of procfs, such as /proc/self/root */
    return fd < 0 ? fd : open_named(request, fd, flags);
}

int fs_open_path(const struct fs_request *request, const char *path, int flags, mode_t mode)
{
    if (request->flags & FS_NO_FOLLOW) {
        const char *name;
        bool looks_first = request->flags & FS_GUARDED && !(flags & O_DIRECTORY);
        int parent = fs_open_parent(request, path, &name);
        if (parent < 0)
            return parent;
        int fd = flags & O_CREAT && fs_protects() ? fs_check_directory(parent) : 0;
        if (fd == 0 && flags & O_CREAT)
            fd = fs_check_entry(parent, name);
        if (fd == 0)
            fd = open_resolving(parent, name, (looks_first ? O_PATH : flags) | O_NOFOLLOW, mode, RESOLVE_NO_SYMLINKS);
        close(parent);
        return fd < 0 ? fd : open_named(request, fd, looks_first ? flags : O_PATH);
    }
    if (flags & O_CREAT && fs_protects())
        return fs_open_for_writing(AT_FDCWD, path, flags, mode);
    /* The kernel never creates a file with RESOLVE_CACHED. */
    uint64_t resolve = request->flags & FS_AT_ONCE && !(flags & O_CREAT) ? RESOLVE_CACHED : 0;
    if (request->flags & FS_GUARDED)
        return open_guarded(request, path, flags, resolve);
    return open_resolving(AT_FDCWD, path, flags, mode, resolve);
}

static int open_directory_of(const char *path, const char **name, uint64_t resolve)
{
    const char *slash = strrchr(path, '/');
    char parent[4096];
    size_t length = (size_t)(slash - path);
    if (length >= sizeof parent - 1)
        return -ENAMETOOLONG;
    memcpy(parent, path, length + 1);
    parent[length + 1] = '\0';
    *name = slash[1] != '\0' ? slash + 1 : ".";
    return open_resolving(AT_FDCWD, parent, O_PATH | O_DIRECTORY, 0, resolve);
}

int fs_open_parent(const struct fs_request *request, const char *path, const char **name)
{
    uint64_t cached = request->flags & FS_AT_ONCE ? RESOLVE_CACHED : 0;
    int fd = open_directory_of(path, name, RESOLVE_NO_SYMLINKS | cached);
    return fd == -ELOOP ? -ENOTDIR : fd; /* a link is no directory here */
}

int fs_open_below(const struct fs_request *request, int directory, const char *path, int flags)
{
    int fd = open_resolving(directory, path, flags | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
    if (fd == -ENOSYS) /* some containers block openat2 */
        fd = open_resolving(directory, path, flags | O_NOFOLLOW, 0, 0);
    int refusal = fd < 0 ? 0 : fs_check_guard(request, fd);
    if (refusal == 0)
        return fd;
    close(fd);
    return -ENOENT; /* what a guard hides is as good as missing */
}

bool fs_writes_promptly(const char *path)
{
    const char *name;
    struct statfs filesystem;
    int fd = open_directory_of(path, &name, RESOLVE_CACHED);
    if (fd < 0)
        return false;
    bool known = fstatfs(fd, &filesystem) == 0;
    close(fd);
    switch (known ? filesystem.f_type : 0) {
    case TMPFS_MAGIC:
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
        return true;
    }
    return false; /* a network file system may take any time */
}
