/* fs/getMetadata. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "engine.h"

static int status_of_open(const struct fs_request *request, int fd, struct statx *status)
{
    int how = AT_EMPTY_PATH | (request->flags & FS_AT_ONCE ? AT_STATX_DONT_SYNC : 0);
    return syscall(SYS_statx, fd, "", how, STATX_BASIC_STATS | STATX_BTIME, status) < 0 ? -errno : 0;
}

static int status_of(const struct fs_request *request, int flags, struct statx *status)
{
    int fd = fs_open_path(request, request->path, O_PATH | flags, 0);
    if (fd < 0)
        return fd;
    int outcome = status_of_open(request, fd, status);
    close(fd);
    return outcome;
}

static long long milliseconds(struct statx_timestamp time)
{
    return time.tv_sec < 0 ? 0 : time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* Without the brace at the end. */
static void put_metadata(const struct fs_request *request, struct fs_answer *answer, const struct statx *status, bool is_link)
{
    fs_putf(answer,
            "{\"isDirectory\":%s,\"isFile\":%s,\"isSymlink\":%s,\"size\":%llu,\"createdAtMs\":%lld,\"modifiedAtMs\":%lld",
            S_ISDIR(status->stx_mode) ? "true" : "false", S_ISREG(status->stx_mode) ? "true" : "false",
            is_link ? "true" : "false", (unsigned long long)status->stx_size,
            status->stx_mask & STATX_BTIME ? milliseconds(status->stx_btime) : 0, milliseconds(status->stx_mtime));
    if (request->flags & FS_IDENTITY)
        fs_putf(answer, ",\"identity\":\"%llu:%llu\"",
                (unsigned long long)makedev(status->stx_dev_major, status->stx_dev_minor),
                (unsigned long long)status->stx_ino);
}

/* Removes "." and ".." from an absolute path; ".." after the name of a link is taken for the link's directory. */
static void normalize(char *path)
{
    char *end = path;
    for (char *at = path; *at != '\0';) {
        size_t length = strcspn(at + 1, "/") + 1; /* with the slash before the name */
        bool is_up = length == 3 && memcmp(at, "/..", 3) == 0;
        if (is_up)
            while (end > path && *--end != '/')
                ;
        else if (length > 1 && !(length == 2 && at[1] == '.'))
            end = (char *)memmove(end, at, length) + length;
        at += length;
    }
    strcpy(end, end == path ? "/" : "");
}

/* What the link refers to, as an absolute path; relative targets count from the directory where the link really is. */
static int put_link_target(struct fs_answer *answer, const char *path, int link)
{
    char target[PATH_MAX], directory[PATH_MAX], real[PATH_MAX], whole[2 * PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof target - 1);
    if (length < 0)
        return -errno;
    target[length] = '\0';
    size_t before = (size_t)(strrchr(path, '/') - path);
    if (before >= sizeof directory)
        return -ENAMETOOLONG;
    memcpy(directory, path, before);
    directory[before] = '\0';
    bool is_absolute = target[0] == '/';
    const char *from = is_absolute ? "" : realpath(before == 0 ? "/" : directory, real) != NULL ? real : directory;
    snprintf(whole, sizeof whole, "%s/%s", from, target);
    normalize(whole);
    fs_puts(answer, ",\"linkTarget\":\"");
    fs_put_uri(answer, whole);
    fs_puts(answer, "\"");
    return 0;
}

/* Of the entry itself, even if it is a link, with owner and permissions. */
static void get_entry_metadata(const struct fs_request *request, struct fs_answer *answer)
{
    struct statx status;
    int fd = fs_open_path(request, request->path, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return fs_fail_errno(answer, -fd);
    int outcome = status_of_open(request, fd, &status);
    bool is_link = outcome == 0 && S_ISLNK(status.stx_mode);
    if (outcome == 0) {
        put_metadata(request, answer, &status, is_link);
        fs_putf(answer, ",\"mode\":%u,\"uid\":%u,\"gid\":%u", status.stx_mode & 07777U, status.stx_uid, status.stx_gid);
    }
    if (is_link)
        outcome = put_link_target(answer, request->path, fd);
    close(fd);
    if (outcome < 0)
        return fs_fail_errno(answer, -outcome);
    fs_puts(answer, "}");
}

void fs_get_metadata(const struct fs_request *request, struct fs_answer *answer)
{
    struct statx status;
    if (request->flags & FS_LINKS)
        return get_entry_metadata(request, answer);
    int outcome = status_of(request, O_NOFOLLOW, &status);
    bool is_link = outcome == 0 && S_ISLNK(status.stx_mode);
    if (is_link && request->flags & FS_NO_FOLLOW)
        return fs_fail_text(answer, FS_INVALID, "path contains a symbolic link");
    if (is_link)
        outcome = status_of(request, 0, &status);
    if (outcome < 0)
        return fs_fail_errno(answer, -outcome);
    put_metadata(request, answer, &status, is_link);
    fs_puts(answer, "}");
}
