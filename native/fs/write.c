/* fs/writeFile, blocks of open files, and fs/createDirectory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "protect.h"

/* How much was written; less than all of it only with errno set. */
static size_t write_all(int fd, const uint8_t *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t count = write(fd, bytes + done, length - done);
        if (count < 0 && errno != EINTR)
            break;
        done += count > 0 ? (size_t)count : 0;
    }
    return done;
}

/*
 * Overwrites the content and truncates the file afterwards, instead of freeing its blocks first: some filesystems write a file that
 * was truncated to 0 to the disk at once. 0 or a negative errno.
 */
static int replace_content(int fd, const struct stat *status, const uint8_t *bytes, size_t length)
{
    size_t written = write_all(fd, bytes, length);
    int outcome = written < length ? -errno : 0;
    bool longer = status->st_size > (off_t)written || written == 0; /* an empty file that stays empty gets a new modification time */
    if (S_ISREG(status->st_mode) && longer && ftruncate(fd, (off_t)written) < 0 && outcome == 0)
        outcome = -errno;
    return outcome;
}

/* Larger files are written on another thread, and so are files that replace larger ones: freeing blocks takes time. */
#define AT_ONCE_LIMIT (16 * 1024)
#define REPLACED_LIMIT (1024 * 1024)

void fs_write_file(const struct fs_request *request, struct fs_answer *answer)
{
    bool at_once = request->flags & FS_AT_ONCE;
    if (at_once && (request->payload_length > AT_ONCE_LIMIT || !fs_writes_promptly(request->path)))
        return fs_fail_errno(answer, EAGAIN);
    int fd = fs_open_path(request, request->path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | (at_once ? O_NOFOLLOW : 0), 0666);
    if (fd == -ELOOP && at_once)
        return fs_fail_errno(answer, EAGAIN); /* a link may lead anywhere */
    if (fd < 0)
        return fs_fail_errno(answer, -fd);
    struct stat status;
    int outcome = fstat(fd, &status) < 0 ? -errno : 0;
    bool regular = outcome == 0 && S_ISREG(status.st_mode);
    bool is_postponed = at_once && !(regular && status.st_size <= REPLACED_LIMIT);
    bool refused = outcome == 0 && !regular && request->flags & FS_NO_FOLLOW;
    if (outcome == 0 && !is_postponed && !refused)
        outcome = replace_content(fd, &status, request->payload, request->payload_length);
    if (close(fd) < 0 && outcome == 0 && errno != EINTR)
        outcome = -errno; /* some filesystems report a full disk only here */
    if (is_postponed)
        fs_fail_errno(answer, EAGAIN);
    else if (refused)
        fs_fail_text(answer, FS_INVALID, "path is not a regular file");
    else if (outcome < 0)
        fs_fail_errno(answer, -outcome);
    else
        fs_puts(answer, "{}");
}

/* numbers: descriptor, offset */
void fs_write_block(const struct fs_request *request, struct fs_answer *answer)
{
    const uint8_t *bytes = request->payload;
    size_t left = request->payload_length;
    if (request->numbers[1] > INT64_MAX - left)
        return fs_fail_text(answer, FS_INVALID, "file write range exceeds the signed 64-bit file offset limit");
    off_t offset = (off_t)request->numbers[1];
    while (left > 0) {
        ssize_t count = pwrite((int)request->numbers[0], bytes, left, offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fs_fail_errno(answer, errno);
        bytes += count;
        offset += count;
        left -= (size_t)count;
    }
    fs_puts(answer, "{}");
}

/*
 * appendBlock: numbers: a descriptor that writes at the end. Answers {"written":N}, which is less than all of it when the next
 * byte failed: the caller knows what is in the file, and asks again for the rest and the reason.
 */
void fs_append_block(const struct fs_request *request, struct fs_answer *answer)
{
    size_t written = write_all((int)request->numbers[0], request->payload, request->payload_length);
    if (written == 0 && request->payload_length > 0)
        return fs_fail_errno(answer, errno);
    fs_putf(answer, "{\"written\":%zu}", written);
}

/* Makes the directory, and missing ones above it; 0 or a negative errno. */
static int make_following(char *path, bool recursive)
{
    struct stat status;
    int failure = fs_mkdir_at(AT_FDCWD, path);
    if (failure == 0)
        return 0;
    if (failure == -ENOENT && recursive) {
        char *slash = strrchr(path, '/');
        if (slash == path)
            return -ENOENT;
        *slash = '\0';
        int outcome = make_following(path, true);
        *slash = '/';
        if (outcome < 0)
            return outcome;
        failure = fs_mkdir_at(AT_FDCWD, path);
        if (failure == 0)
            return 0;
    }
    bool there = recursive && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    return there ? 0 : failure;
}

/* Opens one component, and makes it first if it is missing and may be made. */
static int descend(int parent, const char *name, bool may_make)
{
    int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == ENOENT && may_make) {
        int made = fs_mkdir_at(parent, name);
        if (made < 0 && made != -EEXIST)
            return made;
        fd = openat(parent, name, flags);
    }
    return fd < 0 ? -errno : fd;
}

static int make_unlinked(char *path, bool recursive)
{
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *rest = NULL;
    for (char *name = strtok_r(path, "/", &rest); name != NULL && fd >= 0;) {
        char *next = strtok_r(NULL, "/", &rest);
        int outcome = next == NULL && !recursive ? fs_mkdir_at(fd, name) : descend(fd, name, recursive);
        close(fd);
        if (next == NULL && !recursive)
            return outcome;
        fd = outcome;
        name = next;
    }
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : recursive ? 0 : -EEXIST;
}

int fs_make_directory(const char *given, bool recursive, bool follow)
{
    char path[4096];
    size_t length = strlen(given);
    if (length >= sizeof path)
        return -ENAMETOOLONG;
    memcpy(path, given, length + 1);
    return follow ? make_following(path, recursive) : make_unlinked(path, recursive);
}

void fs_create_directory(const struct fs_request *request, struct fs_answer *answer)
{
    bool recursive = request->flags & FS_RECURSIVE;
    bool follow = !(request->flags & FS_NO_FOLLOW);
    if (!follow && !recursive && strcmp(request->path, "/") == 0)
        return fs_fail_text(answer, FS_FAILED, "directory already exists");
    int outcome = fs_make_directory(request->path, recursive, follow);
    if (outcome < 0)
        fs_fail_errno(answer, -outcome);
    else
        fs_puts(answer, "{}");
}
