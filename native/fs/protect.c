/* Names in directories that must not be created or changed. */
#define _GNU_SOURCE
#include "protect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than a view has: a handful of names for each writable root and each rule. */
#define MOST 1024
#define MOST_LINKS 40

static struct entry {
    int directory;
    dev_t device;
    ino_t inode;
    char *name;
} entries[MOST];
static size_t count;

bool fs_protects(void)
{
    return count > 0;
}

static int protect(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct stat status;
    if (slash == NULL || slash[1] == '\0' || count == MOST)
        return -EINVAL;
    char *parent = strndup(path, (size_t)(slash - path) + 1);
    char *name = strdup(slash + 1);
    int directory = parent && name ? open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int outcome = !parent || !name ? -ENOMEM : directory < 0 || fstat(directory, &status) < 0 ? -errno : 0;
    free(parent);
    if (outcome == 0) {
        entries[count++] = (struct entry){.directory = directory, .device = status.st_dev, .inode = status.st_ino, .name = name};
        return 0;
    }
    free(name);
    if (directory >= 0)
        close(directory);
    return outcome;
}

int fs_protect(const char *paths, size_t length)
{
    if (length == 0 || paths[length - 1] != '\0')
        return -EINVAL;
    for (const char *at = paths; at < paths + length; at += strlen(at) + 1) {
        int outcome = protect(at);
        if (outcome < 0)
            return outcome;
    }
    return 0;
}

int fs_check_entry(int directory, const char *name)
{
    struct stat status;
    bool asked = false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(entries[i].name, name) != 0)
            continue;
        if (!asked && fstat(directory, &status) < 0)
            return -errno;
        asked = true;
        if (entries[i].inode == status.st_ino && entries[i].device == status.st_dev)
            return -EROFS;
    }
    return 0;
}

/* Whether a directory is another one or lies below it. */
static bool is_inside(int directory, const struct stat *other)
{
    struct stat here, below = {0};
    int fd = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool inside = fd < 0;
    while (!inside && fstat(fd, &here) == 0) {
        if (here.st_dev == below.st_dev && here.st_ino == below.st_ino)
            break; /* the root is its own parent */
        inside = here.st_dev == other->st_dev && here.st_ino == other->st_ino;
        int parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = parent;
        if (fd < 0)
            return true; /* unknown, so refused */
        below = here;
    }
    if (fd >= 0)
        close(fd);
    return inside;
}

int fs_check_directory(int directory)
{
    struct stat status;
    for (size_t i = 0; i < count; i++) {
        if (fstatat(entries[i].directory, entries[i].name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* still missing */
        if (S_ISDIR(status.st_mode) && is_inside(directory, &status))
            return -EROFS;
    }
    return 0;
}

int fs_check_move(int directory)
{
    struct stat status;
    if (fs_protects() && fstat(directory, &status) < 0)
        return -errno;
    for (size_t i = 0; i < count; i++)
        if (is_inside(entries[i].directory, &status))
            return -EROFS;
    return 0;
}

/* Splits a path; the directory is "." if the path has none, and the name is "." if the path ends in a slash. */
static int split(const char *path, char directory[PATH_MAX], char *name, size_t size)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (start >= PATH_MAX || length - start >= size)
        return -ENAMETOOLONG;
    memcpy(directory, path, start);
    strcpy(directory + start, start == 0 ? "." : "");
    memcpy(name, path + start, length - start);
    strcpy(name + (length - start), length == start ? "." : "");
    return 0;
}

/* Why a directory cannot be opened: -EROFS if the first part of it that is missing is protected, else -ENOENT. */
static int explain_missing(int at, const char *directory)
{
    char above[PATH_MAX], name[NAME_MAX + 1], path[PATH_MAX];
    strcpy(path, directory);
    for (;;) {
        if (split(path, above, name, sizeof name) < 0 || strcmp(path, above) == 0)
            return -ENOENT;
        int fd = openat(at, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            int outcome = fs_check_entry(fd, name);
            close(fd);
            return outcome < 0 ? outcome : -ENOENT;
        }
        if (errno != ENOENT || strcmp(above, ".") == 0)
            return -ENOENT;
        strcpy(path, above);
    }
}

int fs_open_checked_parent(int at, const char *path, char *name, size_t size)
{
    char directory[PATH_MAX];
    int outcome = split(path, directory, name, size);
    if (outcome < 0)
        return outcome;
    int fd = openat(at, directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? explain_missing(at, directory) : -errno;
    outcome = fs_check_directory(fd);
    if (outcome == 0)
        outcome = fs_check_entry(fd, name);
    if (outcome == 0)
        return fd;
    close(fd);
    return outcome;
}

bool fs_parent_is_missing(int at, const char *path)
{
    char directory[PATH_MAX], name[NAME_MAX + 1];
    struct stat status;
    return split(path, directory, name, sizeof name) == 0 && fstatat(at, directory, &status, 0) < 0 && errno == ENOENT;
}

static int open_entry(int directory, const char *name, int flags, mode_t mode)
{
    struct stat status;
    int fd;
    do
        fd = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return -errno;
    if (!(flags & O_PATH) || fstat(fd, &status) < 0 || !S_ISLNK(status.st_mode))
        return fd;
    close(fd); /* with O_PATH the link itself was opened */
    return -ELOOP;
}

static int open_following(int at, const char *path, int flags, mode_t mode)
{
    char name[NAME_MAX + 1], target[PATH_MAX];
    int parent = fs_open_checked_parent(at, path, name, sizeof name);
    for (int links = 0; parent >= 0; links++) {
        int fd = open_entry(parent, name, flags, mode);
        if (fd != -ELOOP || flags & O_NOFOLLOW || links == MOST_LINKS) {
            close(parent);
            return fd;
        }
        ssize_t length = readlinkat(parent, name, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        int next = length < 0 ? -errno : fs_open_checked_parent(parent, target, name, sizeof name);
        close(parent);
        parent = next;
    }
    return parent;
}

int fs_open_for_writing(int at, const char *path, int flags, mode_t mode)
{
    if (!fs_protects()) {
        int fd = openat(at, path, flags | O_CLOEXEC, mode);
        return fd < 0 ? -errno : fd;
    }
    if (at == AT_FDCWD || strchr(path, '/') != NULL)
        return open_following(at, path, flags, mode);
    int outcome = fs_check_entry(at, path);
    int fd = outcome < 0 ? outcome : open_entry(at, path, flags, mode);
    return fd == -ELOOP && !(flags & O_NOFOLLOW) ? open_following(at, path, flags, mode) : fd;
}

int fs_mkdir_at(int at, const char *path)
{
    char name[NAME_MAX + 1];
    if (!fs_protects())
        return mkdirat(at, path, 0777) < 0 ? -errno : 0;
    int parent = fs_open_checked_parent(at, path, name, sizeof name);
    if (parent < 0)
        return parent;
    int outcome = mkdirat(parent, name, 0777) < 0 ? -errno : 0;
    close(parent);
    return outcome;
}

int fs_symlink_at(const char *target, int at, const char *path)
{
    char name[NAME_MAX + 1];
    if (!fs_protects())
        return symlinkat(target, at, path) < 0 ? -errno : 0;
    int parent = fs_open_checked_parent(at, path, name, sizeof name);
    if (parent < 0)
        return parent;
    int outcome = symlinkat(target, parent, name) < 0 ? -errno : 0;
    close(parent);
    return outcome;
}
