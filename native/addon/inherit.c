/*
 * Descriptors that a child inherits besides the standard ones. Bytes are passed in unnamed files in memory: they appear in no
 * argument list and no environment, and nothing is left on a disk.
 */
#define _GNU_SOURCE
#include "inherit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "../shared/files.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* vm.memfd_noexec=2 refuses files without it */
#endif

static int unnamed_file(const char *bytes, size_t length)
{
    int fd = memfd_create("exec-server", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("exec-server", MFD_CLOEXEC); /* before Linux 6.3 */
    if (fd < 0)
        return -1;
    while (length > 0) {
        ssize_t written = write_retrying(fd, bytes, length);
        if (written < 0) {
            close_open(&fd);
            return -1;
        }
        bytes += written;
        length -= (size_t)written;
    }
    if (lseek(fd, 0, SEEK_SET) < 0)
        close_open(&fd);
    return fd;
}

int inherit_prepare(struct inherited *list, size_t count)
{
    int highest = 2;
    for (size_t i = 0; i < count; i++) {
        if (list[i].bytes != NULL)
            list[i].fd = unnamed_file(list[i].bytes, list[i].length);
        if (list[i].fd < 0)
            return -1;
        if (list[i].fd > highest)
            highest = list[i].fd;
    }
    return highest;
}

void inherit_release(struct inherited *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].bytes != NULL)
            close_open(&list[i].fd);
}

/* Every descriptor first moves above the final places, so that none is overwritten before its turn. */
int inherit_place(struct inherited *list, size_t count)
{
    int places = 3 + (int)count;
    for (size_t i = 0; i < count; i++) {
        list[i].moved = fcntl(list[i].fd, F_DUPFD, places);
        if (list[i].moved < 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (dup2(list[i].moved, 3 + (int)i) < 0)
            return -1;
    return close_between((unsigned)places, ~0U, 0);
}
