/* fs/canonicalize, and questions about paths. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "directory.h"
#include "engine.h"

void fs_canonicalize(const struct fs_request *request, struct fs_answer *answer)
{
    /* Fails when the path cannot be resolved without waiting, or is guarded. */
    int fd = fs_open_path(request, request->path, O_PATH, 0);
    if (fd < 0)
        return fs_fail_errno(answer, -fd);
    close(fd);
    char *path = realpath(request->path, NULL);
    if (path == NULL)
        return fs_fail_errno(answer, errno);
    fs_puts(answer, "{\"path\":\"");
    fs_put_uri(answer, path);
    fs_puts(answer, "\"}");
    free(path);
}

/* Differs between an entry and one that replaces it; src/host/engine/inspection.ts has the same layout. */
struct path_status {
    uint32_t seen; /* 0: missing, or not reachable */
    uint32_t mode, uid, gid;
    uint64_t device, inode;
    int64_t born_seconds;
    uint32_t born_nanoseconds;
    uint32_t writable; /* by this user, or could be made so; only for the target of a link */
};

static void put_path_status(struct fs_answer *answer, const char *path, bool follow)
{
    struct statx status;
    struct path_status found = {0};
    int how = follow ? 0 : AT_SYMLINK_NOFOLLOW;
    if (syscall(SYS_statx, AT_FDCWD, path, how, STATX_BASIC_STATS | STATX_BTIME, &status) == 0) {
        found = (struct path_status){.seen = 1, .mode = status.stx_mode, .uid = status.stx_uid, .gid = status.stx_gid,
                               .device = makedev(status.stx_dev_major, status.stx_dev_minor), .inode = status.stx_ino,
                               .born_seconds = status.stx_btime.tv_sec, .born_nanoseconds = status.stx_btime.tv_nsec};
        /* An owner may always give itself the permission. */
        found.writable = follow && (access(path, W_OK) == 0 || (errno == EACCES && status.stx_uid == geteuid()));
    }
    fs_put(answer, &found, sizeof found);
}

static void put_real_path(struct fs_answer *answer, const char *path)
{
    char real[PATH_MAX];
    fs_put(answer, real, realpath(path, real) == NULL ? 0 : strlen(real));
}

/* One byte for an empty directory; none if it is not empty, not a directory, or not readable. */
static void put_emptiness(struct fs_answer *answer, const char *path)
{
    struct directory_reader reader;
    int failure = 0;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (directory_start(&reader, fd)) {
        if (directory_next(&reader, &failure) == NULL && failure == 0)
            fs_puts(answer, "E");
        directory_finish(&reader);
    }
    close(fd);
}

/* The first 4097 bytes of a regular file. */
static void put_beginning(struct fs_answer *answer, const char *path)
{
    struct stat status;
    char bytes[4097];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t count = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? pread(fd, bytes, sizeof bytes, 0) : 0;
    close(fd);
    if (count > 0)
        fs_put(answer, bytes, (size_t)count);
}

/*
 * inspect: the payload is questions, each a letter and a path ended by NUL; the answer has for each its length (u32)
 * and its bytes. l: lstat; s: stat; r: the real path; e: whether the directory is empty; b: the beginning of the file.
 */
void fs_inspect(const struct fs_request *request, struct fs_answer *answer)
{
    const char *at = (const char *)request->payload, *end = at + request->payload_length;
    if (request->payload_length == 0 || end[-1] != '\0')
        return fs_fail_errno(answer, EINVAL);
    for (; at < end; at += strlen(at) + 1) {
        size_t before = answer->length;
        uint32_t length = 0;
        fs_put(answer, &length, sizeof length);
        if (*at == 'l' || *at == 's')
            put_path_status(answer, at + 1, *at == 's');
        else if (*at == 'r')
            put_real_path(answer, at + 1);
        else if (*at == 'e')
            put_emptiness(answer, at + 1);
        else if (*at == 'b')
            put_beginning(answer, at + 1);
        length = (uint32_t)(answer->length - before - sizeof length);
        if (!answer->exhausted)
            memcpy(answer->bytes + before, &length, sizeof length);
    }
}
