/* fs/readFile, fs/open and fs/readBlock. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "engine.h"

#define FILE_LIMIT 536870912
#define FILE_LIMIT_TEXT "file is too large to read: limit is 536870912 bytes"
#define BLOCK_LIMIT 1048576
/* Small enough to stay in the processor's cache until it is encoded; a multiple of 3, so that only the last slice is padded. */
#define SLICE (192 * 1024)
#define SMALL_SLICE (12 * 1024)
/* Larger files are read on another thread: reading and encoding them here would block the event loop. */
#define AT_ONCE_LIMIT (64 * 1024)

static void fail_not_a_file(const struct fs_request *request, struct fs_answer *answer)
{
    if (request->flags & FS_NO_FOLLOW)
        return fs_fail_text(answer, FS_INVALID, "path is not a regular file");
    fs_fail_text(answer, FS_INVALID, "path `");
    fs_put_lossy(answer, request->path);
    fs_puts(answer, "` is not a file");
}

/* Opens a regular file; fails the answer and returns -1 when it is not one. Never waits for a FIFO. */
static int open_regular(const struct fs_request *request, struct fs_answer *answer, int flags, struct stat *status)
{
    int fd = fs_open_path(request, request->path, flags | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd == -ENXIO) /* a socket, or a device without a driver */
        fail_not_a_file(request, answer);
    else if (fd < 0)
        fs_fail_errno(answer, -fd);
    else if (fstat(fd, status) < 0)
        fs_fail_errno(answer, errno);
    else if (!S_ISREG(status->st_mode))
        fail_not_a_file(request, answer);
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether a file is in memory, so that reading never waits, although the filesystem does not support RWF_NOWAIT. */
static bool is_memory(int fd)
{
    struct statfs filesystem;
    return fstatfs(fd, &filesystem) == 0 && filesystem.f_type == TMPFS_MAGIC;
}

/* Fills the slice unless the file ends first; returns the number of bytes, or a negative errno. */
static ssize_t read_slice(int fd, uint8_t *bytes, size_t length, off_t offset, int flags)
{
    size_t filled = 0;
    while (filled < length) {
        struct iovec rest = {.iov_base = bytes + filled, .iov_len = length - filled};
        ssize_t count = read_into(fd, &rest, 1, offset + (off_t)filled, flags);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EOPNOTSUPP && flags != 0) {
            if (!is_memory(fd))
                return -EAGAIN;
            flags = 0;
            continue;
        }
        if (count < 0)
            return -errno;
        if (count == 0)
            break;
        filled += (size_t)count;
    }
    return (ssize_t)filled;
}

/* Appends the base64 text of the file from here on; a negative errno when reading fails. */
static int put_file(int fd, off_t size, struct fs_answer *answer, int flags)
{
    size_t length = size < SMALL_SLICE ? SMALL_SLICE : SLICE;
    uint8_t *slice = malloc(length);
    if (slice == NULL)
        return -ENOMEM;
    off_t offset = 0;
    ssize_t count;
    do {
        count = read_slice(fd, slice, length, offset, flags);
        if (count > 0)
            fs_put_base64(answer, slice, (size_t)count);
        offset += count > 0 ? count : 0;
        if (offset > FILE_LIMIT)
            count = -EFBIG;
    } while (count == (ssize_t)length);
    free(slice);
    return count < 0 ? (int)count : 0;
}

void fs_read_file(const struct fs_request *request, struct fs_answer *answer)
{
    struct stat status;
    bool at_once = request->flags & FS_AT_ONCE;
    int fd = open_regular(request, answer, O_RDONLY, &status);
    if (fd < 0)
        return;
    int outcome = status.st_size > FILE_LIMIT ? -EFBIG : at_once && status.st_size > AT_ONCE_LIMIT ? -EAGAIN : 0;
    /* Files of procfs have no size before they are read. */
    if (outcome == 0 && fs_reserve(answer, ((size_t)status.st_size + 2) / 3 * 4 + 32)) {
        fs_puts(answer, "{\"dataBase64\":\"");
        outcome = put_file(fd, status.st_size, answer, at_once ? RWF_NOWAIT : 0);
        fs_puts(answer, "\"}");
    }
    close(fd);
    if (outcome == -EFBIG)
        fs_fail_text(answer, FS_INVALID, FILE_LIMIT_TEXT);
    else if (outcome < 0)
        fs_fail_errno(answer, -outcome);
}

/* open: answers {"fd":N}, the descriptor that blocks and close are asked about. */
void fs_open_file(const struct fs_request *request, struct fs_answer *answer)
{
    struct stat status;
    if (!(request->flags & FS_REPLACE)) {
        int flags = request->flags & FS_APPEND ? O_WRONLY | O_CREAT | O_APPEND : O_RDONLY;
        int fd = open_regular(request, answer, flags, &status);
        if (fd >= 0)
            fs_putf(answer, "{\"fd\":%d}", fd);
        return;
    }
    int fd = fs_open_path(request, request->path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY, 0666);
    if (fd < 0)
        fs_fail_errno(answer, -fd);
    else
        fs_putf(answer, "{\"fd\":%d}", fd);
}

/* numbers: descriptor, offset, length */
void fs_read_block(const struct fs_request *request, struct fs_answer *answer)
{
    size_t length = request->numbers[2];
    bool at_once = request->flags & FS_AT_ONCE;
    /* The number was a double, which cannot tell the greatest offset from the one after it. */
    off_t offset = request->numbers[1] == (uint64_t)INT64_MAX + 1 ? INT64_MAX : (off_t)request->numbers[1];
    if (length < 1 || length > BLOCK_LIMIT)
        return fs_fail_errno(answer, EINVAL);
    if (at_once && length > AT_ONCE_LIMIT)
        return fs_fail_errno(answer, EAGAIN);
    uint8_t *block = malloc(length);
    if (block == NULL)
        return fs_fail_errno(answer, ENOMEM);
    ssize_t count = read_slice((int)request->numbers[0], block, length, offset, at_once ? RWF_NOWAIT : 0);
    if (count < 0) {
        fs_fail_errno(answer, (int)-count);
    } else {
        fs_puts(answer, "{\"chunk\":\"");
        fs_put_base64(answer, block, (size_t)count);
        fs_puts(answer, (size_t)count < length ? "\",\"eof\":true}" : "\",\"eof\":false}");
    }
    free(block);
}
