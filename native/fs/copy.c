/* fs/copy: files with their mode, links as links, directories with their entries. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "parallel.h"
#include "directory.h"
#include "engine.h"
#include "protect.h"

#define SMALL_FILE (64 * 1024)
#define DEPTH_LIMIT 2048

#define NOT_COPYABLE "fs/copy only supports regular files, directories, and symlinks"
#define NOT_RECURSIVE "fs/copy requires recursive: true when sourcePath is a directory"
#define INTO_ITSELF "fs/copy cannot copy a directory to itself or one of its descendants"

static int copy_by_reading(int from, int to)
{
    uint8_t *buffer = malloc(SMALL_FILE);
    int outcome = buffer == NULL ? -ENOMEM : 0;
    while (outcome == 0) {
        ssize_t count = read(from, buffer, SMALL_FILE);
        if (count < 0 && errno != EINTR)
            outcome = -errno;
        if (count == 0)
            break;
        for (ssize_t done = 0; outcome == 0 && done < count;) {
            ssize_t written = write(to, buffer + done, (size_t)(count - done));
            if (written < 0 && errno != EINTR)
                outcome = -errno;
            done += written > 0 ? written : 0;
        }
    }
    free(buffer);
    return outcome;
}

/* Shares the blocks if the filesystem can, else copies inside the kernel, else by reading and writing. */
static int copy_content(int from, int to, off_t size)
{
    if (size > SMALL_FILE) {
        if (ioctl(to, FICLONE, from) == 0)
            return 0;
        ssize_t count;
        do
            count = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
        while (count > 0 || (count < 0 && errno == EINTR));
        if (count < 0 && errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
            return -errno;
    }
    return copy_by_reading(from, to); /* copies the rest: all of it, nothing, or bytes that were added meanwhile */
}

static int copy_opened(int from, int to_directory, const char *to_name)
{
    struct stat source, target;
    if (fstat(from, &source) < 0)
        return -errno;
    if (!S_ISREG(source.st_mode))
        return -EINVAL; /* it was replaced after the check */
    mode_t mode = source.st_mode & 07777;
    int to = fs_open_for_writing(to_directory, to_name, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY, mode & 0777);
    if (to < 0)
        return to;
    int outcome = fstat(to, &target) < 0 ? -errno : 0;
    bool same = outcome == 0 && target.st_dev == source.st_dev && target.st_ino == source.st_ino;
    if (outcome == 0 && !same) {
        if (target.st_size > 0 && ftruncate(to, 0) < 0)
            outcome = -errno;
        if (outcome == 0)
            outcome = copy_content(from, to, source.st_size);
        if (outcome == 0 && S_ISREG(target.st_mode) && (target.st_mode & 07777) != mode && fchmod(to, mode) < 0)
            outcome = -errno;
    }
    if (close(to) < 0 && outcome == 0 && errno != EINTR)
        outcome = -errno;
    return outcome;
}

static int copy_file(int from_directory, const char *from_name, int to_directory, const char *to_name)
{
    int from = openat(from_directory, from_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0)
        return -errno;
    int outcome = copy_opened(from, to_directory, to_name);
    close(from);
    return outcome;
}

/* A function of its own, because its caller recurses: the buffer would be on the stack once per level. */
__attribute__((noinline)) static int copy_link(int from_directory, const char *from_name, int to_directory, const char *to_name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(from_directory, from_name, target, sizeof target - 1);
    if (length < 0)
        return -errno;
    target[length] = '\0';
    return fs_symlink_at(target, to_directory, to_name);
}

/* A directory that is copied. */
struct transfer {
    int from;
    int to;
    unsigned depth;
};

static int copy_tree(int from, int to_directory, const char *to_name, unsigned depth);

static int copy_subdirectory(void *context, const char *name)
{
    const struct transfer *transfer = context;
    int fd = openat(transfer->from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int outcome = copy_tree(fd, transfer->to, name, transfer->depth + 1);
    close(fd);
    return outcome;
}

/* Directories in the topmost one are left to the parallel threads, if there are any. */
static int copy_entries(struct transfer *transfer, struct parallel *parallel)
{
    struct directory_reader reader;
    const struct directory_entry *entry;
    int failure = 0;
    if (!directory_start(&reader, transfer->from))
        return -ENOMEM;
    while (failure == 0 && (entry = directory_next(&reader, &failure)) != NULL) {
        unsigned type = directory_type(transfer->from, entry, false);
        if (S_ISREG(type))
            failure = copy_file(transfer->from, entry->name, transfer->to, entry->name);
        else if (S_ISLNK(type))
            failure = copy_link(transfer->from, entry->name, transfer->to, entry->name);
        else if (S_ISDIR(type)) /* devices, sockets and pipes are not copied */
            failure = parallel ? parallel_add(parallel, entry->name) : copy_subdirectory(transfer, entry->name);
    }
    directory_finish(&reader);
    return failure;
}

static int copy_in_parallel(struct transfer *transfer)
{
    struct parallel parallel = {.work = copy_subdirectory, .context = transfer};
    int failure = copy_entries(transfer, &parallel);
    int last = parallel_finish(&parallel);
    return failure < 0 ? failure : last;
}

static int copy_tree(int from, int to_directory, const char *to_name, unsigned depth)
{
    if (depth > DEPTH_LIMIT)
        return -ENAMETOOLONG;
    /* The first one may lie below directories that have to be made as well. */
    int made = to_directory == AT_FDCWD ? fs_make_directory(to_name, true, true)
               : fs_mkdir_at(to_directory, to_name);
    if (made < 0 && made != -EEXIST)
        return made;
    int to = openat(to_directory, to_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        /* A broken link is an obstacle like a file. */
        return errno == ENOTDIR || (made == -EEXIST && errno == ENOENT) ? -EEXIST : -errno;
    struct transfer transfer = {.from = from, .to = to, .depth = depth};
    int outcome = fs_check_directory(to);
    if (outcome == 0)
        outcome = depth == 0 ? copy_in_parallel(&transfer) : copy_entries(&transfer, NULL);
    close(to);
    return outcome;
}

/* Opens a path or the nearest existing directory above it. */
static int open_existing(const char *path)
{
    char *way = strdup(path);
    int fd = -1;
    while (way != NULL && (fd = open(way[0] ? way : "/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 && way[0] != '\0')
        *strrchr(way, '/') = '\0';
    free(way);
    return fd;
}

/* Whether a path is a directory or lies in it, through any links. */
static bool is_inside(const char *path, const struct stat *directory)
{
    struct stat here, above = {0};
    int fd = open_existing(path);
    bool inside = false;
    while (fd >= 0 && !inside && fstat(fd, &here) == 0) {
        if (here.st_dev == above.st_dev && here.st_ino == above.st_ino)
            break; /* the root is its own parent */
        inside = here.st_dev == directory->st_dev && here.st_ino == directory->st_ino;
        int parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = parent;
        above = here;
    }
    if (fd >= 0)
        close(fd);
    return inside;
}

static int copy_directory(const struct fs_request *request, const char **refusal)
{
    struct stat source;
    int from = open(request->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || fstat(from, &source) < 0) {
        if (from >= 0)
            close(from);
        return -errno;
    }
    int outcome = 0;
    if (is_inside(request->target, &source))
        *refusal = INTO_ITSELF;
    else
        outcome = copy_tree(from, AT_FDCWD, request->target, 0);
    close(from);
    return outcome;
}

void fs_copy(const struct fs_request *request, struct fs_answer *answer)
{
    struct stat source;
    const char *refusal = NULL;
    int outcome = 0;
    if (lstat(request->path, &source) < 0)
        outcome = -errno;
    else if (S_ISREG(source.st_mode))
        outcome = copy_file(AT_FDCWD, request->path, AT_FDCWD, request->target);
    else if (S_ISLNK(source.st_mode))
        outcome = copy_link(AT_FDCWD, request->path, AT_FDCWD, request->target);
    else if (!S_ISDIR(source.st_mode))
        refusal = NOT_COPYABLE;
    else if (!(request->flags & FS_RECURSIVE))
        refusal = NOT_RECURSIVE;
    else
        outcome = copy_directory(request, &refusal);
    if (refusal != NULL)
        fs_fail_text(answer, FS_INVALID, refusal);
    else if (outcome < 0)
        fs_fail_errno(answer, -outcome);
    else
        fs_puts(answer, "{}");
}
