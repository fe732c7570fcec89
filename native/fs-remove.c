/* fs/remove. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs-directory.h"
#include "fs-engine.h"

/* Deeper directories are moved up instead of entered, so that descriptors and stack suffice for any depth. */
#define DEPTH_LIMIT 128

struct removal {
    int top;
    unsigned moved;
};

static int empty(struct removal *removal, int fd, unsigned depth);

/* Moves a directory next to the topmost ones, where another round finds it. */
static int move_up(struct removal *removal, int fd, const char *name)
{
    char refuge[48];
    snprintf(refuge, sizeof refuge, ".removing-%d-%u", getpid(), removal->moved++);
    return renameat(fd, name, removal->top, refuge) < 0 ? -errno : 0;
}

static int remove_directory(struct removal *removal, int parent, const char *name, unsigned depth)
{
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -errno;
    if (depth >= DEPTH_LIMIT)
        return move_up(removal, parent, name);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (removal->top < 0)
        removal->top = fd;
    int outcome = empty(removal, fd, depth + 1);
    if (removal->top == fd)
        removal->top = -1;
    close(fd);
    if (outcome == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        outcome = -errno;
    return outcome;
}

static int remove_entry(struct removal *removal, int fd, const struct directory_entry *entry, unsigned depth)
{
    if (S_ISDIR(directory_type(fd, entry, false)))
        return remove_directory(removal, fd, entry->name, depth);
    return unlinkat(fd, entry->name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* Removes everything in a directory. Reads it again until nothing is left: some filesystems skip while entries go. */
static int empty(struct removal *removal, int fd, unsigned depth)
{
    struct directory_reader reader;
    const struct directory_entry *entry;
    int failure = 0;
    bool found = true;
    if (!directory_start(&reader, fd))
        return -ENOMEM;
    while (found && failure == 0) {
        found = false;
        while (failure == 0 && (entry = directory_next(&reader, &failure)) != NULL) {
            found = true;
            failure = remove_entry(removal, fd, entry, depth);
        }
        if (found && lseek(fd, 0, SEEK_SET) < 0)
            failure = -errno;
    }
    directory_finish(&reader);
    return failure;
}

static int remove_at(int parent, const char *name, bool recursive)
{
    struct removal removal = {.top = -1};
    if (unlinkat(parent, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM) /* POSIX has EPERM for directories */
        return -errno;
    if (recursive)
        return remove_directory(&removal, parent, name, 0);
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int remove_unlinked(const struct fs_request *request, bool *is_link)
{
    struct stat status;
    const char *name;
    int parent = fs_open_parent(request, request->path, &name);
    if (parent < 0)
        return parent;
    int outcome = fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
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
        outcome = -EBUSY; /* nobody means this, and half of it would be done before it failed */
    else
        outcome = remove_at(AT_FDCWD, request->path, recursive);
    if (is_link)
        fs_fail_text(answer, FS_INVALID, "path contains a symbolic link");
    else if (outcome < 0 && !(outcome == -ENOENT && request->flags & FS_FORCE))
        fs_fail_errno(answer, -outcome);
    else
        fs_puts(answer, "{}");
}
