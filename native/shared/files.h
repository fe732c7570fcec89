/* Small helpers around system calls that may be interrupted. */
#ifndef EXEC_FILES_H
#define EXEC_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_PIDFD ((idtype_t)3) /* older headers lack P_PIDFD */

/* An entry in the buffer of the system call getdents64. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static inline int open_retrying(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static inline ssize_t read_retrying(int fd, void *bytes, size_t length)
{
    ssize_t count;
    do
        count = read(fd, bytes, length);
    while (count < 0 && errno == EINTR);
    return count;
}

/* Reads a small file in one call and adds a NUL; leaves out what does not fit. Below 0 if it cannot be read. */
static inline ssize_t read_text_at(int directory, const char *path, char *room, size_t size)
{
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t length = read_retrying(fd, room, size - 1);
    close(fd);
    room[length > 0 ? length : 0] = '\0';
    return length;
}

static inline ssize_t write_retrying(int fd, const void *bytes, size_t length)
{
    ssize_t count;
    do
        count = write(fd, bytes, length);
    while (count < 0 && errno == EINTR);
    return count;
}

/* Waits for the end of a child; info may be NULL. */
static inline int reap(int pidfd, siginfo_t *info)
{
    siginfo_t ignored;
    int outcome;
    do
        outcome = waitid(WAIT_PIDFD, (id_t)pidfd, info ? info : &ignored, WEXITED);
    while (outcome < 0 && errno == EINTR);
    return outcome;
}

static inline void close_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

#endif
