/* Prints on the stderr of a blocked caller, without waiting for its reader, which may be the broker. */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/files.h"

/* Opens a pipe or terminal again, because O_NONBLOCK on the caller's descriptor would affect the caller. */
static ssize_t write_anew(int fd, const char *text, size_t length)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open_retrying(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        return -1;
    ssize_t written = write_retrying(own, text, length);
    close(own);
    return written;
}

static ssize_t print(int fd, const char *text, size_t length)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -1;
    if (S_ISREG(status.st_mode))
        return write_retrying(fd, text, length);
    if (S_ISSOCK(status.st_mode))
        return send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write_anew(fd, text, length);
}

bool caller_print(pid_t process, const char *text, size_t length)
{
    int pidfd = (int)syscall(SYS_pidfd_open, process, 0);
    int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, 2, 0);
    close_open(&pidfd);
    if (fd < 0)
        return errno == EBADF; /* it has closed its stderr: no message can reach it */
    bool printed = print(fd, text, length) == (ssize_t)length;
    close(fd);
    return printed;
}
