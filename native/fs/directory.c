/* Reading directories, and fs/readDirectory. */
#define _GNU_SOURCE
#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"

#define BUFFER_SIZE (32 * 1024)
#define ENTRY_LIMIT 50000

bool directory_start(struct directory_reader *reader, int fd)
{
    *reader = (struct directory_reader){.fd = fd, .buffer = malloc(BUFFER_SIZE)};
    return reader->buffer != NULL;
}

const struct directory_entry *directory_next(struct directory_reader *reader, int *failure)
{
    for (;;) {
        if (reader->at == reader->filled) {
            long count = syscall(SYS_getdents64, reader->fd, reader->buffer, BUFFER_SIZE);
            *failure = count < 0 ? -errno : 0;
            if (count <= 0)
                return NULL;
            reader->at = 0;
            reader->filled = (size_t)count;
        }
        const struct directory_entry *entry = (const void *)(reader->buffer + reader->at);
        reader->at += entry->length;
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
            return entry;
    }
}

void directory_finish(struct directory_reader *reader)
{
    free(reader->buffer);
}

unsigned directory_type(int fd, const struct directory_entry *entry, bool follow)
{
    struct stat status;
    if (entry->type != DT_UNKNOWN && !(follow && entry->type == DT_LNK))
        return DTTOIF(entry->type);
    return fstatat(fd, entry->name, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0 ? 0 : status.st_mode & S_IFMT;
}

static int put_entries(int fd, struct fs_answer *answer, bool links, size_t *count)
{
    struct directory_reader reader;
    const struct directory_entry *entry;
    int failure = 0;
    if (!directory_start(&reader, fd))
        return -ENOMEM;
    while ((entry = directory_next(&reader, &failure)) != NULL) {
        unsigned type = directory_type(fd, entry, true);
        if (type == 0 && !links)
            continue; /* a broken link */
        if ((*count)++ >= ENTRY_LIMIT)
            continue; /* counted for the message */
        fs_puts(answer, *count == 1 ? "{\"fileName\":\"" : ",{\"fileName\":\"");
        fs_put_json(answer, entry->name);
        fs_puts(answer, S_ISDIR(type)   ? "\",\"isDirectory\":true,\"isFile\":false"
                        : S_ISREG(type) ? "\",\"isDirectory\":false,\"isFile\":true"
                                        : "\",\"isDirectory\":false,\"isFile\":false");
        if (links)
            fs_puts(answer, S_ISLNK(directory_type(fd, entry, false)) ? ",\"isSymlink\":true" : ",\"isSymlink\":false");
        fs_puts(answer, "}");
    }
    directory_finish(&reader);
    return failure;
}

void fs_read_directory(const struct fs_request *request, struct fs_answer *answer)
{
    size_t count = 0;
    int fd = fs_open_path(request, request->path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fs_fail_errno(answer, -fd);
    fs_puts(answer, "{\"entries\":[");
    int failure = put_entries(fd, answer, request->flags & FS_LINKS, &count);
    fs_puts(answer, "]}");
    close(fd);
    if (failure < 0)
        return fs_fail_errno(answer, -failure);
    if (count > ENTRY_LIMIT) {
        fs_fail_text(answer, FS_FAILED, "");
        fs_putf(answer, "fs/readDirectory returned %zu entries; limit is %d", count, ENTRY_LIMIT);
    }
}
