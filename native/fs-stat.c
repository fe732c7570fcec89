/* What a path is, and what it is really called. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs-engine.h"

static int look(const struct fs_request *request, int flags, struct statx *status)
{
    int fd = fs_open_path(request, request->path, O_PATH | flags, 0);
    if (fd < 0)
        return fd;
    int how = AT_EMPTY_PATH | (request->flags & FS_AT_ONCE ? AT_STATX_DONT_SYNC : 0);
    long outcome = syscall(SYS_statx, fd, "", how, STATX_BASIC_STATS | STATX_BTIME, status);
    int failure = errno;
    close(fd);
    return outcome < 0 ? -failure : 0;
}

static long long milliseconds(struct statx_timestamp time)
{
    return time.tv_sec < 0 ? 0 : time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

void fs_get_metadata(const struct fs_request *request, struct fs_answer *answer)
{
    struct statx status;
    int outcome = look(request, O_NOFOLLOW, &status);
    bool is_link = outcome == 0 && S_ISLNK(status.stx_mode);
    if (is_link && request->flags & FS_NO_FOLLOW)
        return fs_fail_text(answer, FS_INVALID, "path contains a symbolic link");
    if (is_link)
        outcome = look(request, 0, &status);
    if (outcome < 0)
        return fs_fail_errno(answer, -outcome);
    fs_putf(answer,
            "{\"isDirectory\":%s,\"isFile\":%s,\"isSymlink\":%s,\"size\":%llu,\"createdAtMs\":%lld,\"modifiedAtMs\":%lld}",
            S_ISDIR(status.stx_mode) ? "true" : "false", S_ISREG(status.stx_mode) ? "true" : "false",
            is_link ? "true" : "false", (unsigned long long)status.stx_size,
            status.stx_mask & STATX_BTIME ? milliseconds(status.stx_btime) : 0, milliseconds(status.stx_mtime));
}

void fs_canonicalize(const struct fs_request *request, struct fs_answer *answer)
{
    /* Says whether the way is known without waiting, and whether it may be gone. */
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
