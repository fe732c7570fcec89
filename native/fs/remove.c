/* fs/remove. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parallel.h"
#include "directory.h"
#include "engine.h"
#include "protect.h"

/* Deeper directories are moved up instead of entered, so that descriptors and stack suffice for any depth. */
#define DEPTH_LIMIT 32
/* The most readings of a directory in a row during which no directory was moved up, and the most readings at all. */
#define IDLE_ROUNDS 64
#define MOST_ROUNDS 65536

struct removal {
    int top;
    atomic_uint moved;
    /* For the directories in the topmost one. */
    struct parallel parallel;
};

static int empty(struct removal *removal, int parent, const char *name, int fd, unsigned depth);

/* Moves a directory into the topmost one, where a later reading finds it. */
static int move_up(struct removal *removal, int fd, const char *name)
{
    char new_name[48];
    snprintf(new_name, sizeof new_name, ".removing-%d-%u", getpid(), atomic_fetch_add(&removal->moved, 1));
    return renameat(fd, name, removal->top, new_name) < 0 ? -errno : 0;
}

/* Whether a directory cannot even be read: a sandbox that denies it has mounted an unreadable one in its place. */
static bool is_denied(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == EACCES;
}

/* Why a directory on which something is mounted cannot be removed. */
static int explain_mounted(int parent, const char *name)
{
    if (is_denied(parent, name))
        return -EACCES;
    return faccessat(parent, name, W_OK, 0) < 0 && errno == EROFS ? -EROFS : -EBUSY;
}

static int remove_directory(struct removal *removal, int parent, const char *name, unsigned depth)
{
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == EBUSY)
        return explain_mounted(parent, name); /* nothing has been touched yet */
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -errno;
    if (depth >= DEPTH_LIMIT)
        return move_up(removal, parent, name);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (depth == 0)
        removal->top = fd;
    int outcome = empty(removal, parent, name, fd, depth + 1);
    close(fd);
    return outcome;
}

static int remove_below_top(void *context, const char *name)
{
    struct removal *removal = context;
    return remove_directory(removal, removal->top, name, 1);
}

/* Removes what one reading of a directory finds. */
static int sweep(struct removal *removal, struct directory_reader *reader, int fd, unsigned depth)
{
    const struct directory_entry *entry;
    int failure = 0;
    while (failure == 0 && (entry = directory_next(reader, &failure)) != NULL) {
        failure = fs_check_entry(fd, entry->name);
        if (failure < 0)
            break;
        if (!S_ISDIR(directory_type(fd, entry, false)))
            failure = unlinkat(fd, entry->name, 0) < 0 && errno != ENOENT ? -errno : 0;
        else if (fd == removal->top)
            failure = parallel_add(&removal->parallel, entry->name);
        else
            failure = remove_directory(removal, fd, entry->name, depth);
    }
    int last = fd == removal->top ? parallel_finish(&removal->parallel) : 0;
    return failure < 0 ? failure : last;
}

/*
 * Removes a directory with its content. Reads it again while entries are left, because some filesystems skip entries while others are
 * removed, and deep directories are moved up. Gives up if other processes fill the directory as fast as it is emptied.
 */
static int empty(struct removal *removal, int parent, const char *name, int fd, unsigned depth)
{
    struct directory_reader reader;
    if (!directory_start(&reader, fd))
        return -ENOMEM;
    int outcome = sweep(removal, &reader, fd, depth);
    unsigned moved = atomic_load(&removal->moved);
    for (unsigned idle = 0, rounds = 0; outcome == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT; rounds++) {
        bool is_left = (errno == ENOTEMPTY || errno == EEXIST) && idle < IDLE_ROUNDS && rounds < MOST_ROUNDS;
        outcome = is_left && lseek(fd, 0, SEEK_SET) == 0 ? sweep(removal, &reader, fd, depth) : -errno;
        idle = atomic_load(&removal->moved) == moved ? idle + 1 : 0;
        moved = atomic_load(&removal->moved);
    }
    directory_finish(&reader);
    return outcome;
}

static int remove_at(int parent, const char *name, bool recursive)
{
    struct removal removal = {.top = -1, .parallel = {.work = remove_below_top, .context = &removal}};
    if (unlinkat(parent, name, 0) == 0)
        return 0;
    if (errno == EROFS) { /* the kernel reports this before it looks the name up */
        struct stat status;
        if (recursive && is_denied(parent, name))
            return -EACCES;
        return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : -EROFS;
    }
    if (errno != EISDIR && errno != EPERM) /* POSIX has EPERM for directories */
        return -errno;
    if (recursive)
        return remove_directory(&removal, parent, name, 0);
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int remove_path(const char *path, bool recursive)
{
    char name[NAME_MAX + 1];
    if (!fs_protects())
        return remove_at(AT_FDCWD, path, recursive);
    int parent = fs_open_checked_parent(AT_FDCWD, path, name, sizeof name);
    if (parent == -EROFS && fs_parent_is_missing(AT_FDCWD, path))
        return -ENOENT; /* there is nothing to remove */
    if (parent < 0)
        return parent;
    int outcome = remove_at(parent, name, recursive);
    close(parent);
    return outcome;
}

static int remove_unlinked(const struct fs_request *request, bool *is_link)
{
    struct stat status;
    const char *name;
    int parent = fs_open_parent(request, request->path, &name);
    if (parent < 0)
        return parent;
    int outcome = fs_check_directory(parent);
    if (outcome == 0)
        outcome = fs_check_entry(parent, name);
    if (outcome == 0 && fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        outcome = -errno;
    *is_link = outcome == 0 && S_ISLNK(status.st_mode);
    if (outcome == 0 && !*is_link)
        outcome = unlinkat(parent, name, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
    close(parent);
    return outcome;
}

void fs_remove(const struct fs_request *request, struct fs_answer *answer)
{
    bool recursive = request->flags & FS_RECURSIVE;
    bool is_link = false;
    int outcome;
    if (request->flags & FS_NO_FOLLOW && recursive)
        return fs_fail_text(answer, FS_FAILED, "recursive no-follow removal is unsupported");
    if (request->flags & FS_NO_FOLLOW)
        outcome = remove_unlinked(request, &is_link);
    else if (strcmp(request->path, "/") == 0)
        outcome = -EBUSY; /* never intended, and it would remove much before it failed */
    else
        outcome = remove_path(request->path, recursive);
    if (is_link)
        fs_fail_text(answer, FS_INVALID, "path contains a symbolic link");
    else if (outcome < 0 && !(outcome == -ENOENT && request->flags & FS_FORCE))
        fs_fail_errno(answer, -outcome);
    else
        fs_puts(answer, "{}");
}
